// SPDX-License-Identifier: Apache-2.0
// Ranges of kernels on the host: how large they may be, and when workers share them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "support/meeting_of_two.hpp"

namespace starling {
namespace {

constexpr std::int64_t largest_int = std::numeric_limits<int>::max();

/// The calls of a kernel: their number, and the sums and extremes of the positions.
struct record_of_calls {
  std::int64_t calls = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = -1;
  std::int64_t rows = 0;  // sum of y and z

  template <class Index>
  void add(const Index& i) {
    ++calls;
    first = std::min<std::int64_t>(first, i.x);
    last = std::max<std::int64_t>(last, i.x);
    rows += std::int64_t(i.y) + i.z;
  }
};
struct narrow_kernel {
  record_of_calls* seen;
  void operator()(index3 i) const { seen->add(i); }
};
struct wide_kernel {
  record_of_calls* seen;
  void operator()(wide_index3 i) const { seen->add(i); }
};
struct wide_kernel_for_any_index {
  using index_type = wide_index3;
  record_of_calls* seen;
  template <class Index>
  void operator()(Index i) const {
    static_assert(std::is_same_v<Index, wide_index3>);
    seen->add(i);
  }
};
struct narrow_kernel_in_lanes {
  record_of_calls* seen;
  void operator()(index3 i) const { seen->add(i); }
  template <class V, class Index>
  void lanes(Index i) const {
    for (std::size_t k = 0; k < V::size(); ++k) {
      seen->add(i);
      ++i.x;
    }
  }
};
static_assert(index_kernel<wide_kernel> && index_kernel<wide_kernel_for_any_index>);
static_assert(!group_kernel<wide_kernel>);

/// Calls the host's code for the last `units` units of a kernel over a row, like a worker that runs
/// this piece.
template <class Kernel>
record_of_calls end_of_row(std::int64_t nx, std::int64_t units) {
  record_of_calls seen;
  const Kernel k{&seen};
  const detail::kernel_call call = detail::make_call(range{nx}, k, group_shape{});
  call.host(call, call.units - units, call.units);
  return seen;
}

TEST(host_range, of_the_most_indices_of_an_int_ends_where_it_should) {
  for (const std::int64_t nx : {largest_int, largest_int - 1022, largest_int - 1023}) {
    const record_of_calls seen = end_of_row<narrow_kernel>(nx, 3000);
    EXPECT_EQ(seen.calls, 3000) << nx;
    EXPECT_EQ(seen.first, nx - 3000) << nx;
    EXPECT_EQ(seen.last, nx - 1) << nx;
    EXPECT_EQ(seen.rows, 0) << nx;
  }
}

TEST(host_range, of_the_most_indices_of_an_int_ends_where_it_should_in_lanes) {
  const record_of_calls seen = end_of_row<narrow_kernel_in_lanes>(largest_int, 1000);
  EXPECT_EQ(seen.last, largest_int - 1);
  EXPECT_EQ(seen.calls, seen.last - seen.first + 1);
  EXPECT_EQ(seen.rows, 0);
}

TEST(host_range, may_exceed_an_int_for_kernels_with_wide_indices) {
  constexpr std::int64_t many = 3 * largest_int;
  for (const auto& seen :
       {end_of_row<wide_kernel>(many, 100), end_of_row<wide_kernel_for_any_index>(many, 100)}) {
    EXPECT_EQ(seen.calls, 100);
    EXPECT_EQ(seen.first, many - 100);
    EXPECT_EQ(seen.last, many - 1);
  }
}

TEST(host_range, divided_anywhere_visits_each_index_once) {
  record_of_calls seen;
  const narrow_kernel k{&seen};
  const range extent{7, 3, 2};
  const detail::kernel_call call = detail::make_call(extent, k, group_shape{});
  for (std::int64_t cut = 0; cut <= call.units; ++cut) {
    seen = {};
    call.host(call, 0, cut);
    call.host(call, cut, call.units);
    EXPECT_EQ(seen.calls, extent.size());
    EXPECT_EQ(seen.last, 6);
    EXPECT_EQ(seen.rows, 7 * (2 * (0 + 1 + 2) + 3 * (0 + 1)));
  }
}

TEST(host_range, takes_sizes_of_containers) {
  const std::vector<double> data(10);
  static_assert(range{std::size_t(3) << 32}.nx == std::int64_t(3) << 32);
  EXPECT_EQ((range{data.size()}), range{10});
  EXPECT_EQ((range{data.size(), 2u, short(3)}), (range{10, 2, 3}));
}

runtime_options host_options(unsigned workers) {
  runtime_options options = runtime_options::from_environment();
  options.workers = workers;
  options.bind = binding::none;
  options.extra = {{"backend", "host"}};
  return options;
}

/// Each index takes as long as a task.
struct costly_as_stated {
  static constexpr int host_grain = 1;
  starling_test::meeting_of_two* at;
  void operator()(index3) const { at->come(); }
};

TEST(host_range, of_few_indices_is_shared_by_workers_where_the_kernel_states_its_cost) {
  runtime rt(host_options(2));
  starling_test::meeting_of_two here;
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{8}, costly_as_stated{&here});
  rt.sync_wait(s.completion());
  EXPECT_EQ(here.came(), 8);
  EXPECT_EQ(here.alone(), 0);
}

/// The first indices compute for long; the last ones must be run by two threads at once.
struct costly_as_measured {
  starling_test::meeting_of_two* at;
  void operator()(index3 i) const {
    using clock = std::chrono::steady_clock;
    const clock::time_point end = clock::now() + std::chrono::microseconds(200);
    while (clock::now() < end) {
    }
    if (i.x >= 20) at->come();
  }
};

TEST(host_range, of_few_indices_is_shared_by_workers_where_they_turn_out_to_cost_much) {
  runtime rt(host_options(2));
  starling_test::meeting_of_two here;
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{64}, costly_as_measured{&here});
  rt.sync_wait(s.completion());
  EXPECT_EQ(here.came(), 44);
  EXPECT_EQ(here.alone(), 0);
}

struct throws_at {
  int where;
  void operator()(index3 i) const {
    if (i.x == where) throw std::runtime_error("index " + std::to_string(where));
  }
};

TEST(host_range, fails_as_a_whole_where_its_measured_part_fails) {
  runtime rt(host_options(2));
  stream s = devices(rt).device(0).make_stream();
  for (const int where : {0, 63, 1999}) {
    s.submit(range{2000}, throws_at{where});
    EXPECT_THROW(rt.sync_wait(s.completion()), device_error) << where;
  }
}

}  // namespace
}  // namespace starling
