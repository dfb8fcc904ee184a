// SPDX-License-Identifier: Apache-2.0
// Migration: a token passes around a ring of chares that move on to the next worker after each
// visit, also to one of another rank. Messages find them and keep their order.
#include <cstdio>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct walker : chare<walker> {
  explicit walker(int workers) : m_workers(workers) {}
  /// Makes a walker that has arrived from another rank; `serialize` reads its state then.
  explicit walker(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_workers, m_visits, m_migrations);
  }

  void pass(int rounds_left, long sum, callback<long> end) {
    sum += this_index();
    ++m_visits;
    const int n = this_array().extent().extent();
    const int next = (this_index() + 1) % n;
    if (next == 0 && --rounds_left == 0) return end.deliver(std::move(sum));
    this_array()[next].invoke<&walker::pass>(rounds_left, sum, end);
    migrate_to((this_worker() + 1) % std::size_t(m_workers));
  }
  /// Adds up the visits and the migrations of all elements.
  task<std::pair<int, int>> count() {
    const int visits = co_await reduce(m_visits, reduction::sum());
    co_return std::pair(visits, co_await reduce(m_migrations, reduction::sum()));
  }
  void after_migration() { ++m_migrations; }

 private:
  int m_workers = 1;
  int m_visits = 0;
  int m_migrations = 0;
};

task<int> go_around(runtime& rt) {
  constexpr int walkers = 10, rounds = 20;
  const int workers = int(total_worker_count(rt));
  const auto ring = create_array<walker>(rt, walkers, placement::block, workers);
  auto [end, result] = make_reply<long>();
  ring[0].invoke<&walker::pass>(rounds, 0L, end);
  const long sum = co_await std::move(result);
  co_await quiescence();  // the last migrations have ended

  std::vector<future<std::pair<int, int>>> counts;
  for (int i = 0; i < walkers; ++i) counts.push_back(ring[i].call<&walker::count>());
  const auto [visits, migrations] = (co_await when_all(std::move(counts))).front();
  std::printf("%d rounds of a ring of %d: %ld, with %d migrations\n", rounds, walkers, sum,
              migrations);
  // After its last visit the last walker ends the ring and stays.
  const int expected = workers == 1 ? 0 : visits - 1;
  const bool is_right = sum == rounds * walkers * (walkers - 1) / 2 && visits == rounds * walkers;
  co_return is_right&& migrations == expected ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, go_around(rt));
}
