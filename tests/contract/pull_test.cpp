// SPDX-License-Identifier: Apache-2.0
// Series of copies (`pull_bytes`) and low-priority completions (`get_lazy_future`).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include <starling/core/when_all.hpp>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class pulls : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, pulls, testing::ValuesIn(all_setups), name_of);

TEST_P(pulls, complete_lazy_futures) {
  run([](device& d) -> task<void> {
    constexpr std::size_t count = 40;
    auto from = shared_buffer<std::uint64_t>(d, count, 7);
    auto to = shared_buffer<std::uint64_t>(d, count, 0);
    auto work = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    std::vector<future<void>> there;
    for (std::size_t i = 0; i < count; ++i) {
      s.pull_bytes(to.data() + i, from.data() + i, sizeof(std::uint64_t));
      there.push_back(s.get_lazy_future());
      if (i % 7 == 6) s.submit(range{1}, affine{work.data(), 3, 1});
    }
    for (std::size_t i = 0; i < count; ++i) {
      co_await std::move(there[i]);
      EXPECT_EQ(to.data()[i], 7u);
    }
  });
}

/// Marks of both kinds in alternation, requested by waiters of both kinds.
TEST_P(pulls, complete_lazy_and_prompt_futures_in_turn) {
  run([](device& d) -> task<void> {
    constexpr std::size_t count = 400;
    auto from = shared_buffer<std::uint64_t>(d, count, 7);
    auto to = shared_buffer<std::uint64_t>(d, count, 0);
    stream s = d.make_stream();
    auto on_device = d.allocate<std::uint64_t>(memory_kind::device, count, s);
    std::deque<future<void>> there;
    for (std::size_t i = 0; i < count; ++i) {
      s.pull_bytes(on_device.data() + i, from.data() + i, sizeof(std::uint64_t));
      s.pull_bytes(to.data() + i, on_device.data() + i, sizeof(std::uint64_t));
      there.push_back(i % 11 == 10 ? s.get_future() : s.get_lazy_future());
      EXPECT_TRUE(i % 50 != 49 || !s.is_idle() || to.data()[i] == 7u);
      if (there.size() < 12) continue;
      co_await std::move(there.front());
      there.pop_front();
      EXPECT_EQ(to.data()[i + 1 - 12], 7u);
    }
    for (future<void>& f : there) co_await std::move(f);
    EXPECT_EQ(std::ranges::count(to, 7u), std::ptrdiff_t(count));
    EXPECT_TRUE(s.is_idle());
  });
}

/// Large and small copies, from the target of an earlier copy and to the source of a later one.
TEST_P(pulls, take_effect_in_order) {
  run([](device& d) -> task<void> {
    constexpr std::size_t blocks = 6, size = std::size_t{48} << 10;  // 384 KiB each
    stream s = d.make_stream();
    auto memory = d.allocate<std::uint64_t>(memory_kind::device, blocks * size, s);
    std::vector<std::uint64_t> expected(blocks * size);
    std::iota(expected.begin(), expected.end(), 0u);
    s.copy(memory, expected);
    co_await s.completion();
    std::mt19937 draw(7);
    std::vector<future<void>> there;
    for (int i = 0; i < 300; ++i) {
      const std::size_t to = draw() % blocks, from = (to + 1 + draw() % (blocks - 1)) % blocks;
      const std::size_t count = draw() % 4 == 0 ? 100 : size - draw() % 1000;
      const auto at = [size](auto& all, std::size_t block) { return all.data() + block * size; };
      s.pull_bytes(at(memory, to), at(memory, from), count * sizeof(std::uint64_t));
      std::copy_n(at(expected, from), count, at(expected, to));
      if (draw() % 3 == 0) there.push_back(s.get_lazy_future());
      if (draw() % 16 == 0) {
        s.submit(range{size}, affine{at(memory, from), 3, 1});
        std::for_each_n(at(expected, from), size, [](std::uint64_t& x) { x = 3 * x + 1; });
      }
    }
    co_await when_all(std::move(there));
    std::vector<std::uint64_t> result(memory.size());
    s.copy(result, memory);
    co_await s.completion();
    EXPECT_TRUE(result == expected);
  });
}

TEST_P(pulls, follow_earlier_work_and_precede_waiting_streams) {
  run([](device& d) -> task<void> {
    constexpr std::size_t size = std::size_t{64} << 10;
    stream s = d.make_stream(), other = d.make_stream();
    auto from = d.allocate<std::uint64_t>(memory_kind::device, size, s);
    auto to = d.allocate<std::uint64_t>(memory_kind::device, 4 * size, s);
    std::vector<std::uint64_t> result(4 * size);
    for (std::uint64_t round = 1; round < 10; ++round) {
      s.fill(from, round);
      for (std::size_t i = 0; i < 4; ++i)
        s.pull_bytes(to.data() + i * size, from.data(), size * sizeof(std::uint64_t));
      other.wait(s.record());
      other.copy(result, to);
      s.wait(other.record());
      co_await other.completion();
      EXPECT_EQ(std::ranges::count(result, round), std::ptrdiff_t(4 * size));
    }
    co_await s.completion();
  });
}

/// A copy between two kernels that run until the host releases them.
task<void> pull_between_kernels(device& d) {
  auto from = shared_buffer<std::uint64_t>(d, 1, 5);
  auto flags = shared_buffer<int>(d, 2, 0);
  stream s = d.make_stream();
  // From host to host the caller would wait for the copy.
  auto memory = d.allocate<std::uint64_t>(memory_kind::device, 8, s);
  const auto pull = [&](std::size_t to) {
    s.pull_bytes(memory.data() + to, from.data(), sizeof(std::uint64_t));
    return s.get_lazy_future();
  };
  d.load_kernels();
  s.submit(range{1}, hold_on_device{flags.data()});
  std::vector<future<void>> there;
  for (std::size_t i = 0; i < 8; ++i) there.push_back(pull(i));
  s.submit(range{1}, hold_on_device{flags.data() + 1});
  std::atomic_ref(flags.data()[0]).store(1);
  for (future<void>& f : there) co_await std::move(f);
  std::atomic_ref(flags.data()[1]).store(1);
  std::vector<std::uint64_t> result(8);
  s.copy(result, memory);
  co_await s.completion();
  EXPECT_EQ(std::ranges::count(result, 5u), 8);
}

TEST_P(pulls, complete_futures_during_the_next_kernel) {
  if (GetParam().backend != std::string_view("cuda") ||
      GetParam().completion != std::string_view("word"))
    GTEST_SKIP() << "other marks are not put off, and kernels of hosts may need the waiting thread";
  run(pull_between_kernels);
}

}  // namespace
}  // namespace starling::contract
