// SPDX-License-Identifier: Apache-2.0
// Quiescence: never before all possible work is done.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::many;
using namespace std::chrono_literals;

class quiescence_of_ranks : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, quiescence_of_ranks, starling_test::some_ranks,
                         starling_test::ranks_name);
class quiescence_of_devices : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, quiescence_of_devices, starling_test::some_ranks,
                         starling_test::ranks_name);
/// Not between ranks: futures do not travel.
class quiescence_of_one_rank : public quiescence_of_ranks {};
INSTANTIATE_TEST_SUITE_P(on, quiescence_of_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

struct doubling {
  int* value;
  void operator()(index3) const { *value *= 2; }
};

struct busy : chare<busy> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_count, m_seen);
  }
  /// Passes numbers on as the nodes of a binary tree: each number once.
  void divide(int generations, int number) {
    m_seen.push_back(number);
    const int n = this_array().extent().extent();
    for (int k = 0; k < 2 && generations > 0; ++k)
      this_array()[(3 * this_index() + 5 * k + 1) % n].invoke<&busy::divide>(generations - 1,
                                                                             2 * number + k);
  }
  void multiply(int generations) {
    ++m_count;
    const int n = this_array().extent().extent();
    for (int k = 0; k < 2 && generations > 0; ++k)
      this_array()[(3 * this_index() + 5 * k + 1) % n].invoke<&busy::multiply>(generations - 1);
  }
  /// Some messages have the other priority; the coroutines have to wait for each other.
  task<> pass_on(int generations) {
    ++m_count;
    if (generations == 0) co_return;
    const int n = this_array().extent().extent();
    co_await yield();
    const auto next = this_array()[(this_index() + 1) % n];
    if (generations % 3 == 0)
      co_await next.call<&busy::pass_on>(generations - 1);
    else
      next.urgent().invoke<&busy::pass_on>(generations - 1);
  }
  task<> after_timer(int rounds) {
    for (int i = 0; i < rounds; ++i) co_await sleep_for(2ms);
    this_array()[0].invoke<&busy::multiply>(2);
  }
  task<> after_device_work(int rounds) {
    stream s = devices(*runtime::current()).device(0).make_stream();
    int value = 1;
    for (int i = 0; i < rounds; ++i) {
      s.submit(range{1}, doubling{&value});
      co_await s.completion();
    }
    EXPECT_EQ(value, 1 << rounds);
    this_array()[0].invoke<&busy::multiply>(2);
  }
  task<> after_reduction() {
    co_await reduce(1, reduction::sum{});
    ++m_count;
  }
  task<> await_quiescence(int times) {
    for (int i = 0; i < times; ++i) {
      co_await quiescence();
      ++m_count;
    }
  }
  awaited never();
  task<> wait_for_ever() { co_await when<&busy::never>(); }
  int count() const { return m_count; }
  std::vector<int> seen() { return std::exchange(m_seen, {}); }

 private:
  int m_count = 0;
  std::vector<int> m_seen;
};

task<int> total(chare_array<busy> all) {
  int sum = 0;
  for (int i = 0; i < all.extent().extent(); ++i) sum += co_await all[i].call<&busy::count>();
  co_return sum;
}

TEST_P(quiescence_of_ranks, comes_after_messages_that_send_messages) {
  const auto all = create_array<busy>(rt, 17, placement::round_robin);
  const int generations = many(13, 9);
  rt.sync_wait([](chare_array<busy> a, int generations) -> task<> {
    std::vector<int> expected(std::size_t((2 << generations) - 1));
    std::iota(expected.begin(), expected.end(), 1);
    for (int repeat = 1; repeat <= 5; ++repeat) {
      a[repeat].invoke<&busy::divide>(generations, 1);
      co_await quiescence();
      std::vector<int> all;
      for (int i = 0; i < a.extent().extent(); ++i) {
        const std::vector<int> seen = co_await a[i].call<&busy::seen>();
        all.insert(all.end(), seen.begin(), seen.end());
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, expected);
    }
  }(all, generations));
}

TEST_P(quiescence_of_ranks, comes_after_a_single_message_that_is_passed_on) {
  const auto all = create_array<busy>(rt, 8, placement::round_robin);
  const int steps = many(3000, 300);
  rt.sync_wait([](chare_array<busy> a, int steps) -> task<> {
    for (int repeat = 1; repeat <= 3; ++repeat) {
      a[0].invoke<&busy::pass_on>(steps);
      co_await quiescence();
      EXPECT_EQ(co_await total(a), repeat * (steps + 1));
    }
  }(all, steps));
}

TEST_P(quiescence_of_ranks, comes_after_timers) {
  const auto all = create_array<busy>(rt, 5, placement::round_robin);
  rt.sync_wait([](chare_array<busy> a) -> task<> {
    a.invoke<&busy::after_timer>(3);
    co_await quiescence();
    EXPECT_EQ(co_await total(a), 5 * 7);
  }(all));
}

TEST_P(quiescence_of_devices, comes_after_device_work) {
  starling_test::first_rank with_device(starling_test::with_backend("host", GetParam()));
  const auto all = create_array<busy>(with_device, 5, placement::round_robin);
  with_device.sync_wait([](chare_array<busy> a) -> task<> {
    a.invoke<&busy::after_device_work>(20);
    co_await quiescence();
    EXPECT_EQ(co_await total(a), 5 * 7);
  }(all));
}

struct awaiting : chare<awaiting> {
  static constexpr bool one_rank = true;  // futures do not travel
  task<> after_future(chare_array<busy> others, shared_future<int> f) {
    const int generations = co_await f;
    others[this_index()].invoke<&busy::multiply>(generations);
  }
};

TEST_P(quiescence_of_one_rank, comes_after_promises_of_a_foreign_thread) {
  const auto all = create_array<busy>(rt, 5, placement::round_robin);
  const auto waiting = create_array<awaiting>(rt, 5, placement::block);
  promise<int> generations;
  std::atomic<bool> asked{false};
  std::thread foreign([&, token = rt.hold_external_work()]() mutable {
    while (!asked.load()) std::this_thread::yield();
    generations.set_value(3);
    const external_work released = std::move(token);
  });
  rt.sync_wait([](chare_array<busy> a, chare_array<awaiting> waiting, shared_future<int> f,
                  std::atomic<bool>& asked) -> task<> {
    waiting.invoke<&awaiting::after_future>(a, f);
    asked.store(true);
    co_await quiescence();
    EXPECT_EQ(co_await total(a), 5 * 15);
  }(all, waiting, generations.get_future().share(), asked));
  foreign.join();
}

TEST_P(quiescence_of_ranks, comes_after_awaited_reductions) {
  const auto all = create_array<busy>(rt, 9, placement::round_robin);
  rt.sync_wait([](chare_array<busy> a) -> task<> {
    for (int repeat = 1; repeat <= 20; ++repeat) {
      a.invoke<&busy::after_reduction>();
      co_await quiescence();
      EXPECT_EQ(co_await total(a), 9 * repeat);
    }
  }(all));
}

using counter = starling_test::in_process<std::atomic<int>>;
struct mayfly : chare<mayfly, std::uint64_t> {
  mayfly(int left, counter born) {
    ++*born.it;
    for (std::uint64_t k = 0; k < 2 && left > 0; ++k)
      this_array().insert(2 * this_index() + k, left - 1, born);
    this_element().destroy();
  }
  explicit mayfly(migrated) {}
  template <class Archive>
  void serialize(Archive&) {}
};

TEST_P(quiescence_of_ranks, comes_after_elements_that_are_made_and_deleted) {
  const auto all = create_sparse_array<mayfly>(rt);
  // Static: the thread sanitizer does not see that UCX orders its construction before its use.
  static std::atomic<int> born;
  born = 0;
  rt.sync_wait([](chare_array<mayfly> a, std::atomic<int>& born) -> task<> {
    a.insert(1, 9, counter{&born});
    co_await quiescence();
    EXPECT_EQ(born.load(), 1023);
  }(all, born));
}

TEST_P(quiescence_of_ranks, comes_for_all_waiters_each_time) {
  const auto all = create_array<busy>(rt, 6, placement::round_robin);
  rt.sync_wait([](chare_array<busy> a) -> task<> {
    a.invoke<&busy::await_quiescence>(10);
    for (int i = 0; i < 10; ++i) co_await quiescence();
    // All waiters of the tenth are notified together; some elements may not have counted it yet.
    co_await quiescence();
    EXPECT_EQ(co_await total(a), 60);
  }(all));
}

/// Delays those messages of rank 0 to rank 3 that have the size of quiescence messages: until there
/// are three of them, or until a message of another size.
class late_to_rank_3 final : public starling_test::tapped_transport {
 public:
  late_to_rank_3(std::unique_ptr<transport> inner, std::atomic<int>& late)
      : tapped_transport(std::move(inner), [](message m) { return m; }), m_late(late) {}
  void send(int to, unsigned number, message m) override {
    if (rank() != 0 || to != 3) return tapped_transport::send(to, number, std::move(m));
    const std::lock_guard lock(m_mutex);
    const bool is_late = m.size() == size_of_quiescence;
    m_held.emplace_back(number, std::move(m));
    m_late += is_late;
    if (is_late && m_held.size() < 3) return;
    for (auto& [n, held] : std::exchange(m_held, {})) tapped_transport::send(3, n, std::move(held));
  }

 private:
  static constexpr std::size_t size_of_quiescence =
      sizeof(detail::remote_header) + sizeof(std::uint64_t);
  std::atomic<int>& m_late;
  std::mutex m_mutex;
  std::vector<std::pair<unsigned, message>> m_held;
};

TEST(quiescence_of_four_ranks, comes_each_time_with_one_slow_connection) {
  const auto main = [](runtime& rt) -> task<int> {
    const auto all = create_array<busy>(rt, 8, placement::round_robin);
    all.invoke<&busy::await_quiescence>(10);
    for (int i = 0; i < 10; ++i) co_await quiescence();
    co_await quiescence();
    co_return co_await total(all);
  };
  std::atomic<int> late{0};
  const auto ends = starling_test::cluster{4, 1}.run(main, [&late](std::unique_ptr<transport> t) {
    return std::make_unique<late_to_rank_3>(std::move(t), late);
  });
  EXPECT_GE(late, 10);
  for (const auto& end : ends) EXPECT_EQ(end.status, 80) << starling_test::cluster::text_of(end);
}

TEST_P(quiescence_of_ranks, comes_each_time_without_messages) {
  int times = 0;
  rt.sync_wait([](int& times) -> task<> {
    for (; times < 100; ++times) co_await quiescence();
  }(times));
  EXPECT_EQ(times, 100);
}

/// Counts how a task's waits for quiescence have ended.
struct wait_record {
  std::atomic<int> passed{0};
  std::atomic<int> cancelled{0};
};
class quiescence_of_failed_runs : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, quiescence_of_failed_runs, starling_test::some_ranks,
                         starling_test::ranks_name);

struct failing : chare<failing> {
  template <class Archive>
  void serialize(Archive&) {}
  void fail() {
    if (this_index() == 3) throw std::runtime_error("density is negative");
  }
  void leave() {
    if (this_index() == 3) exit_run(0);
  }
};

task<> wait_for_quiescence(chare_array<failing> all, bool by_error, wait_record& record) {
  if (by_error)
    all.invoke<&failing::fail>();
  else
    all.invoke<&failing::leave>();
  try {
    co_await quiescence();
    ++record.passed;
  } catch (const operation_cancelled&) {
    ++record.cancelled;
    throw;
  }
}

TEST_P(quiescence_of_failed_runs, never_comes) {
  wait_record record;
  const int times = many(10, 3);
  for (int i = 0; i < times; ++i) {
    starling_test::first_rank other(all);
    const auto some = create_array<failing>(other, 4, placement::block);
    EXPECT_THROW(other.sync_wait(wait_for_quiescence(some, true, record)), entry_error);
  }
  EXPECT_EQ(record.passed, 0);
  EXPECT_EQ(record.cancelled, times);
}

TEST_P(quiescence_of_failed_runs, never_comes_after_exit_run) {
  wait_record record;
  all.expect(0, [&record](runtime& rt) -> task<int> {
    co_await wait_for_quiescence(create_array<failing>(rt, 4, placement::block), false, record);
    co_return 1;
  });
  EXPECT_EQ(record.passed, 0);
  EXPECT_EQ(record.cancelled, 1);
}

TEST_P(quiescence_of_ranks, ignores_chares_that_wait_for_ever) {
  const auto all = create_array<busy>(rt, 3, placement::round_robin);
  rt.sync_wait([](chare_array<busy> a) -> task<> {
    a.invoke<&busy::wait_for_ever>();
    co_await quiescence();
    a.invoke<&busy::multiply>(0);
    co_await quiescence();
    EXPECT_EQ(co_await total(a), 3);
    a.invoke<&busy::never>();
    co_await quiescence();
  }(all));
}

}  // namespace
}  // namespace starling
