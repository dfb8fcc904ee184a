// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "support/meeting_of_two.hpp"

namespace starling::kokkos {
namespace {

// Policies made from lists, and lambdas with captures, are variables here, not parts of a co_await:
// there g++ 12 rejects the former and destroys the latter twice.

class async_kernels : public with_kokkos {};
INSTANTIATE_TEST_SUITE_P(on, async_kernels, worker_counts, worker_count_name);

/// A space that only supports `fence`, as seen by the interop.
struct only_fences {
  int* fences;
  void fence() const { ++*fences; }
};
template <class Space>
concept has_future = requires(const Space& s) {
  get_future(s);
};
template <class Space>
concept has_future_if_it_may_block = requires(const Space& s) {
  get_future(may_block, s);
};

static_assert(completion_of<Kokkos::Serial> == completion::immediate);
static_assert(completion_of<only_fences> == completion::fence_only);
static_assert(has_future<Kokkos::Serial> && !has_future<only_fences>);
static_assert(has_future_if_it_may_block<only_fences>);

/// Memory that Serial cannot access.
struct far_memory {
  using memory_space = far_memory;
  using execution_space = Kokkos::Serial;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
};
using far_view = Kokkos::View<double*, far_memory>;

static_assert(copies_without_waiting<Kokkos::Serial, host_view, host_view>);
static_assert(copies_without_waiting<Kokkos::Serial, host_view, double>);
static_assert(!copies_without_waiting<Kokkos::Serial, host_view, far_view>);
static_assert(!copies_without_waiting<Kokkos::Serial, far_view, double>);
static_assert(!copies_without_waiting<only_fences, host_view, host_view>);

TEST_P(async_kernels, fulfil_their_future_when_the_range_is_done) {
  run([]() -> task<void> {
    const host_view a("a", 1000);
    const auto body = [=](int i) { a(i) = 2.0 * i; };
    co_await async(host_range(0, 1000), body);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(a(i), 2.0 * i);
  });
}

TEST_P(async_kernels, run_boxes_and_teams) {
  run([]() -> task<void> {
    using box = Kokkos::MDRangePolicy<Kokkos::Serial, Kokkos::Rank<2>>;
    using teams = Kokkos::TeamPolicy<Kokkos::Serial>;
    const Kokkos::View<int**, Kokkos::HostSpace> a("a", 30, 40);
    const box all({0, 0}, {30, 40});
    const auto add = [=](int i, int j) { a(i, j) += 100 * i + j; };
    co_await async(all, add);
    const Kokkos::View<int*, Kokkos::HostSpace> sums("sums", 30);
    const auto sum_row = [=](const teams::member_type& team) {
      int sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, 40),
          [&](int j, int& update) { update += a(team.league_rank(), j); }, sum);
      sums(team.league_rank()) = sum;
    };
    co_await async(teams(30, 1), sum_row);
    for (int i = 0; i < 30; ++i) EXPECT_EQ(sums(i), 40 * 100 * i + 39 * 40 / 2);
  });
}

TEST_P(async_kernels, put_a_reduction_into_the_future) {
  run([]() -> task<void> {
    const auto body = [](int i, double& update) { update += i; };
    EXPECT_EQ(co_await async(host_range(0, 101), body, reduce<double>), 5050.0);
    const auto largest = [](int i, int& update) { update = std::max(update, (i * 37) % 101); };
    EXPECT_EQ(co_await async(host_range(0, 101), largest, reduce<Kokkos::Max<int>>), 100);
    using box = Kokkos::MDRangePolicy<Kokkos::Serial, Kokkos::Rank<2>>;
    const auto count = [](int, int, long& update) { ++update; };
    const box all({0, 0}, {7, 11});
    EXPECT_EQ(co_await async(all, count, reduce<long>), 77);
    using teams = Kokkos::TeamPolicy<Kokkos::Serial>;
    const auto ranks = [](const teams::member_type& team, int& update) {
      update += team.league_rank();
    };
    EXPECT_EQ(co_await async(teams(10, 1), ranks, reduce<int>), 45);
  });
}

TEST_P(async_kernels, put_the_total_of_a_scan_into_the_future) {
  run([]() -> task<void> {
    const Kokkos::View<int*, Kokkos::HostSpace> before("before", 100);
    const auto sum_before = [=](int i, int& update, bool last) {
      if (last) before(i) = update;
      update += i;
    };
    EXPECT_EQ(co_await async(host_range(0, 100), sum_before, scan<int>), 4950);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(before(i), i * (i - 1) / 2);
  });
}

TEST_P(async_kernels, of_one_instance_run_in_the_order_of_the_calls) {
  run([]() -> task<void> {
    const instance<Kokkos::Serial> own;
    const Kokkos::View<unsigned long*, Kokkos::HostSpace> a("a", 1);
    std::vector<future<void>> done;
    unsigned long expected = 0;
    for (unsigned long k = 1; k <= 200; ++k) {
      done.push_back(async(host_range(own, 0, 1), [=](int) { a(0) = 3 * a(0) + k; }));
      expected = 3 * expected + k;
    }
    co_await get_future(own.get());
    EXPECT_EQ(a(0), expected);
    co_await when_all(std::move(done));
  });
}

/// Kokkos 3.4 has one Serial instance with one scratch memory: then these take turns.
TEST_P(async_kernels, of_several_instances_do_not_disturb_each_other) {
  run([]() -> task<void> {
    using teams = Kokkos::TeamPolicy<Kokkos::Serial>;
    std::vector<instance<Kokkos::Serial>> own(8);
    std::vector<future<long>> sums;
    for (int round = 0; round < 20; ++round)
      for (const instance<Kokkos::Serial>& space : own) {
        const int n = 10 + 50 * (round % 7);
        auto policy = teams(space, 20, 1)
                          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(n * sizeof(int))));
        sums.push_back(async(
            policy,
            [n](const teams::member_type& team, long& update) {
              int* const mine = static_cast<int*>(team.team_shmem().get_shmem(n * sizeof(int)));
              for (int i = 0; i < n; ++i) mine[i] = team.league_rank();
              for (int i = 0; i < n; ++i) update += mine[i];
            },
            reduce<long>));
      }
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(co_await sums[i], (10 + 50 * ((long(i) / 8) % 7)) * 190);
  });
}

TEST_P(async_kernels, divided_among_workers_run_every_index_once) {
  run([]() -> task<void> {
    for (const int n : {0, 1, 7, 64, 1000}) {
      const Kokkos::View<int*, Kokkos::HostSpace> visits("visits", n + 1);
      const auto visit = [=](int i) { ++visits(i); };
      co_await async(spread(host_range(0, n), 7), visit);
      for (int i = 0; i < n; ++i) EXPECT_EQ(visits(i), 1);
      EXPECT_EQ(visits(n), 0);
    }
    using box = Kokkos::MDRangePolicy<Kokkos::Serial, Kokkos::Rank<3>>;
    const Kokkos::View<int***, Kokkos::HostSpace> visits("visits", 6, 7, 8);
    const box all({1, 1, 1}, {6, 7, 8});
    const auto visit = [=](int i, int j, int k) { ++visits(i, j, k); };
    co_await async(spread(all, 2), visit);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 7; ++j)
        for (int k = 0; k < 8; ++k) EXPECT_EQ(visits(i, j, k), i > 0 && j > 0 && k > 0);
  });
}

TEST_P(async_kernels, divided_among_workers_may_have_the_largest_grains_and_indices) {
  run([]() -> task<void> {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    const auto count = [](auto, int& update) { ++update; };
    EXPECT_EQ(co_await async(spread(host_range(0, 10), most), count, reduce<int>), 10);
    using long_range = Kokkos::RangePolicy<Kokkos::Serial, Kokkos::IndexType<std::int64_t>>;
    const long_range high(most - 10, most);
    EXPECT_EQ(co_await async(spread(high, 3), count, reduce<int>), 10);
    EXPECT_EQ(co_await async(spread(high, most - 1), count, reduce<int>), 10);
    using bits = Kokkos::RangePolicy<Kokkos::Serial, Kokkos::IndexType<std::uint64_t>>;
    const bits highest(~std::uint64_t(0) - 10, ~std::uint64_t(0));
    EXPECT_EQ(co_await async(spread(highest, 3), count, reduce<int>), 10);
    // Kokkos itself does not support so long a range.
    EXPECT_EQ(detail::distance(-most, std::int64_t(0)), most);
    EXPECT_THROW(static_cast<void>(detail::distance(-most, most)), usage_error);
  });
}

TEST_P(async_kernels, divided_among_workers_use_several_workers) {
  starling_test::meeting_of_two pieces;
  run([&]() -> task<void> {
    const auto meet = [&](int) { pieces.come(); };
    if (rt.worker_count() == 1) co_return;
    co_await async(spread(host_range(0, 2), 1), meet);
    EXPECT_EQ(pieces.came(), 2);
    EXPECT_EQ(pieces.alone(), 0) << "one worker ran all pieces";
  });
}

/// Returns values whose sum depends on the order of the additions.
double uneven(int i) { return 1.0 / (1.0 + i * 0.37) - 1e-3 * (i % 13); }

TEST_P(async_kernels, divided_among_workers_reduce_to_the_same_bits_for_any_number) {
  run([]() -> task<void> {
    double expected = 0.0;
    for (int piece = 0; piece < 100; ++piece) {
      double local = 0.0;
      for (int i = piece * 10; i < piece * 10 + 10; ++i) local += uneven(i);
      expected += local;
    }
    const auto sum = [](int i, double& update) { update += uneven(i); };
    for (int repeat = 0; repeat < 20; ++repeat)
      EXPECT_EQ(co_await async(spread(host_range(0, 1000), 10), sum, reduce<double>), expected);
    const auto least = [](int i, int& update) { update = std::min(update, (i - 70) * (i - 70)); };
    EXPECT_EQ(co_await async(spread(host_range(0, 200), 9), least, reduce<Kokkos::Min<int>>), 0);
    EXPECT_EQ(co_await async(spread(host_range(0, 0), 9), sum, reduce<double>), 0.0);
    EXPECT_THROW(static_cast<void>(spread(host_range(0, 5), 0)), usage_error);
  });
}

TEST_P(async_kernels, send_the_exception_of_a_functor_to_the_future) {
  run([]() -> task<void> {
    const auto curse = [](int i) {
      if (i == 42) throw std::runtime_error("index 42 is cursed");
    };
    const std::string text =
        co_await error_of<std::runtime_error>(async(host_range(0, 100), curse));
    EXPECT_EQ(text, "index 42 is cursed");
    EXPECT_EQ(co_await error_of<std::runtime_error>(async(spread(host_range(0, 100), 3), curse)),
              text);
    EXPECT_EQ(co_await error_of<std::runtime_error>(async(may_block, host_range(0, 100), curse)),
              text);
    co_await async(host_range(0, 40), curse);  // the instance works as before
  });
}

/// Without Views: the functor moves to a worker, and Kokkos 3.4 does not count the references of
/// Views atomically.
TEST_P(async_kernels, may_be_dropped) {
  std::vector<int> a(64, -1);
  run([&a]() -> task<void> {
    for (int i = 0; i < 64; ++i)
      static_cast<void>(async(host_range(i, i + 1), [to = a.data()](int k) { to[k] = k; }));
    co_await get_future(Kokkos::Serial());
  });
  for (int i = 0; i < 64; ++i) EXPECT_EQ(a[static_cast<std::size_t>(i)], i);
}

TEST_P(async_kernels, wait_in_place_only_with_permission) {
  run([]() -> task<void> {
    int fences = 0;
    const future<void> done = get_future(may_block, only_fences{&fences});
    EXPECT_TRUE(done.is_ready());
    EXPECT_EQ(fences, 1);
    const auto sum = [](int i, int& update) { update += i; };
    const host_range all(0, 11);
    future<int> total = detail::run_in_place(
        Kokkos::Serial(), detail::reduce_work<host_range, decltype(sum), int>(all, sum), "async");
    EXPECT_TRUE(total.is_ready());
    EXPECT_EQ(co_await total, 55);
    const auto curse = [](int) { throw std::runtime_error("cursed"); };
    EXPECT_EQ(co_await error_of<std::runtime_error>(detail::run_in_place(
                  Kokkos::Serial(), detail::for_work<host_range, decltype(curse)>(all, curse), "")),
              "cursed");
  });
}

TEST_P(async_kernels, that_may_wait_keep_the_order_of_their_instance) {
  run([]() -> task<void> {
    std::vector<int> a(1, 0);
    std::vector<future<void>> done;
    for (int k = 1; k <= 50; ++k) {
      done.push_back(async(host_range(0, 1), [to = a.data()](int) { *to = 3; }));
      done.push_back(async(may_block, host_range(0, 1), [to = a.data(), k](int) { *to += k; }));
      const auto read = [from = a.data()](int, int& update) { update += *from; };
      EXPECT_EQ(co_await async(may_block, host_range(0, 1), read, reduce<int>), 3 + k);
    }
    co_await get_future(may_block, Kokkos::Serial());
    co_await when_all(std::move(done));
  });
}

TEST_P(async_kernels, copy_views) {
  run([]() -> task<void> {
    const host_view a("a", 500);
    const host_view b("b", 500);
    co_await deep_copy_async(a, 3.0);
    co_await deep_copy_async(Kokkos::Serial(), b, a);
    EXPECT_EQ(b(499), 3.0);
    co_await deep_copy_async(may_block, Kokkos::Serial(), b, 4.0);
    EXPECT_EQ(b(0), 4.0);
  });
}

/// The first runtime's kernel waits until the second runtime's kernel is queued, which must not
/// begin before the first has ended.
struct meeting {
  std::atomic<bool> first_is_in{false};
  std::atomic<bool> second_is_queued{false};
  std::atomic<bool> second_is_in{false};
  std::atomic<bool> met{false};
};

task<void> come_first(meeting& m) {
  const auto body = [&m](int) {
    m.first_is_in = true;
    while (!m.second_is_queued) std::this_thread::yield();
    for (int i = 0; i < 20'000 && !m.met; ++i, std::this_thread::yield())
      if (m.second_is_in) m.met = true;
  };
  co_await async(host_range(0, 1), body);
}

task<void> come_second(meeting& m) {
  while (!m.first_is_in) std::this_thread::yield();
  const auto body = [&m](int) { m.second_is_in = true; };
  future<void> done = async(host_range(0, 1), body);
  m.second_is_queued = true;
  co_await done;
}

TEST(two_runtimes, take_turns_on_one_instance) {
  runtime_options options = runtime_options::from_environment();
  options.workers = 1;
  options.bind = binding::none;
  runtime one(options);
  runtime other(options);
  meeting m;
  std::thread first([&] { one.sync_wait(come_first(m)); });
  other.sync_wait(come_second(m));
  first.join();
  EXPECT_TRUE(m.second_is_in);
  EXPECT_FALSE(m.met) << "both kernels ran on one instance at once";
}

TEST(async_calls, outside_a_runtime_name_the_remedy) {
  try {
    static_cast<void>(get_future(Kokkos::Serial()));
    ADD_FAILURE() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("call it in a task"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace starling::kokkos
