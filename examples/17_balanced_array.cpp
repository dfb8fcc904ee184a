// SPDX-License-Identifier: Apache-2.0
// Load balancing: a quarter of the blocks has eight times the work. The array measures its loads
// and moves blocks to other workers, also of other ranks, until the work is even.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct block : chare<block> {
  using totals = std::vector<std::uint64_t>;

  explicit block(int steps) : m_steps(steps) {}
  explicit block(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_steps, m_step, m_done, m_migrations, m_end);
  }

  void begin(callback<totals> end) {
    m_end = std::move(end);
    this_element().template invoke<&block::run>();
  }
  task<> run() {
    const int heavy = this_index() < this_array().extent().extent() / 4 ? 8 : 1;
    while (m_step < m_steps) {
      for (int i = 0; i < heavy * 20000; ++i) m_done = m_done * 3 + std::uint64_t(i);
      ++m_step;  // before the wait, as resumed() continues with the members as they are now
      co_await load_balance();
    }
    contribute(totals{std::uint64_t(m_step), m_migrations}, reduction::sum(), m_end);
  }
  /// Continues on another rank, where the coroutine could not go.
  task<> resumed() { return run(); }
  void after_migration() { ++m_migrations; }

 private:
  int m_steps = 0;
  int m_step = 0;
  std::uint64_t m_done = 1;
  std::uint64_t m_migrations = 0;
  callback<totals> m_end;
};

task<int> work_in_balance(runtime& rt) {
  constexpr int blocks = 32, steps = 40;
  const auto all = create_array<block>(rt, blocks, placement::block, steps);
  all.measure_loads(true);
  auto [end, result] = make_reply<block::totals>();
  all.invoke<&block::begin>(end);
  const auto found = co_await std::move(result);
  std::printf("%llu steps of %d blocks, with %llu migrations\n",
              static_cast<unsigned long long>(found[0]), blocks,
              static_cast<unsigned long long>(found[1]));
  const bool has_moved = found[1] > 0;
  co_return found[0] == blocks* steps&& has_moved == (total_worker_count(rt) > 1) ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, work_in_balance(rt));
}
