// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <stop_token>
#include <vector>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class random_programs : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, random_programs, testing::ValuesIn(all_setups), name_of);

constexpr int slots = 6;
constexpr int queues = 4;
constexpr int steps = 300;

/// Submits random work on random streams. Each slot of an array belongs to the stream that used it
/// last; another stream first waits for that stream's event. In any order of execution, the result
/// is that of executing the steps one after the other.
class program {
 public:
  program(device& d, std::uint64_t seed) : m_device(d), m_random(seed), m_owner(slots, 0) {
    for (int q = 0; q < queues; ++q) m_streams.push_back(d.make_stream(random_priority()));
  }

  task<void> run() {
    auto a = shared_buffer<std::uint64_t>(m_device, slots, 1);
    std::vector<std::uint64_t> expected(slots, 1);
    for (int i = 0; i < steps; ++i) {
      const std::size_t slot = below(slots);
      const std::size_t queue = below(queues);
      take_over(slot, queue);
      step(a.data()[slot], expected[slot], m_streams[queue]);
      if (below(10) == 0) co_await m_streams[queue].completion();
      if (below(10) == 0) static_cast<void>(m_streams[queue].get_future());
      if (below(20) == 0) co_await yield();
    }
    for (stream& s : m_streams) co_await s.completion();
    for (std::size_t i = 0; i < slots; ++i) EXPECT_EQ(a.data()[i], expected[i]) << "slot " << i;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return m_random() % bound; }
  priority random_priority() { return below(2) == 0 ? priority::high : priority::normal; }

  void take_over(std::size_t slot, std::size_t queue) {
    if (m_owner[slot] != queue) m_streams[queue].wait(m_streams[m_owner[slot]].record());
    m_owner[slot] = queue;
  }

  void step(std::uint64_t& actual, std::uint64_t& expected, stream& s) {
    const std::uint64_t factor = below(1000) + 2;
    const std::uint64_t term = below(1000);
    if (below(4) == 0) {
      const graph twice = s.capture([&] {
        s.submit(range{1}, affine{&actual, factor, term});
        s.submit(range{1}, affine{&actual, factor, term});
      });
      static_cast<void>(twice.launch(s));
      expected = factor * (factor * expected + term) + term;
    } else {
      s.submit(range{1}, affine{&actual, factor, term});
      expected = factor * expected + term;
    }
  }

  device& m_device;
  std::mt19937_64 m_random;
  std::vector<stream> m_streams;
  std::vector<std::size_t> m_owner;  // the last stream that used each slot
};

TEST_P(random_programs, give_the_serial_result) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    program p(first(), seed);
    rt().sync_wait(p.run());
  }
}

TEST_P(random_programs, give_the_serial_result_under_chaos) {
  if (!kernels_throw() && GetParam().completion != all_setups[4].completion)
    GTEST_SKIP() << "chaos reorders host streams; one device run is enough";
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("chaos seed " + std::to_string(seed));
    runtime_options options = options_for(GetParam(), 1 + seed % 4);
    options.chaos = seed;
    start(options);
    program p(first(), seed);
    rt().sync_wait(p.run());
  }
}

/// Tasks that each run a random chain of sequences on their own number, some through futures, some
/// with a token that is stopped at a random time; some end early.
class gathered_program {
 public:
  static constexpr std::size_t tasks = 60;

  gathered_program(device& d, std::uint64_t seed)
      : m_device(d), m_seed(seed),
        m_gathered(d, {.most = 1 + seed % 9, .streams = 1 + seed % 3, .depth = 1 + seed % 2}) {}

  task<void> run() {
    auto a = shared_buffer<std::uint64_t>(m_device, tasks, 1);
    auto memory = m_device.allocate<std::uint64_t>(memory_kind::device, tasks);
    std::vector<future<std::uint64_t>> started;
    for (std::size_t i = 0; i < tasks; ++i)
      started.push_back(spawn(chain(i, a.data()[i], memory.data()[i])));
    for (std::size_t i = 0; i < tasks; ++i) {
      const std::uint64_t expected = co_await std::move(started[i]);
      EXPECT_EQ(a.data()[i], expected) << "task " << i;
    }
    EXPECT_GT(m_gathered.statistics().submissions, tasks);
  }

 private:
  /// Runs the chain of task `i` and returns the value that its sequences must have left in
  /// `actual`.
  task<std::uint64_t> chain(std::size_t i, std::uint64_t& actual, std::uint64_t& memory) {
    std::mt19937_64 random(m_seed * 1000 + i);
    std::uint64_t expected = 1;
    std::stop_source stop;
    for (std::uint64_t left = 2 + random() % 6; left > 0; --left) {
      sequence s = m_gathered.begin(random() % 4 == 0 ? priority::high : priority::normal);
      s.copy_bytes(&memory, &actual, sizeof actual);
      std::uint64_t after = expected;
      for (std::uint64_t kernels = 1 + random() % 3; kernels > 0; --kernels) {
        const std::uint64_t factor = random() % 1000;
        s.submit(range{1}, affine{&memory, factor, left});
        after = factor * after + left;
      }
      s.copy_bytes(&actual, &memory, sizeof actual);
      if (random() % 3 == 0) co_await yield();
      if (random() % 5 == 0) post(stop_it(stop));
      if (co_await was_run(s, random() % 3, stop.get_token())) expected = after;
      stop = std::stop_source();
    }
    co_return expected;
  }

  static task<void> stop_it(std::stop_source stop) {
    stop.request_stop();
    co_return;
  }

  static task<bool> was_run(sequence& s, std::uint64_t how, std::stop_token stop) {
    if (how == 0) {
      co_await s.get_future();
      co_return true;
    }
    try {
      co_await s.completion(std::move(stop));
    } catch (const operation_cancelled&) {
      co_return false;
    }
    co_return true;
  }

  device& m_device;
  std::uint64_t m_seed;
  aggregator m_gathered;
};

TEST_P(random_programs, give_the_serial_result_when_gathered) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    gathered_program p(first(), seed);
    rt().sync_wait(p.run());
  }
}

TEST_P(random_programs, give_the_serial_result_when_gathered_under_chaos) {
  if (!on_host()) GTEST_SKIP() << "chaos reorders host streams";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("chaos seed " + std::to_string(seed));
    runtime_options options = options_for(GetParam(), 1 + seed % 4);
    options.chaos = seed;
    start(options);
    gathered_program p(first(), seed);
    rt().sync_wait(p.run());
  }
}

}  // namespace
}  // namespace starling::contract
