// SPDX-License-Identifier: Apache-2.0
// The launches for devices, here on Serial: ranges, boxes and teams of one thread.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <starling/device/detail/host_launch.hpp>
#include <starling/device/interop/kokkos_kernels.hpp>

#include "contract/kernels.hpp"

namespace starling::kokkos {
namespace {

using contract::count_visits;
using contract::sum_per_group;

template <class Kernel>
void run_on_serial(const range& extent, const std::vector<Kernel>& kernels,
                   group_shape shape = starling::detail::default_shape<Kernel>(),
                   bool captured = false) {
  auto call = starling::detail::make_call(extent, kernels.front(), shape);
  call.count = kernels.size();
  detail::run_whole<Kernel>(call, Kokkos::Serial(), {nullptr, 0, 0, captured});
}

constexpr std::size_t counts[] = {1, 2, 64, 65, 200};

template <class Kernel>
void visit_once() {
  for (const range extent : {range{1}, range{1000}, range{17, 9, 3}, range{1, 300, 7}})
    for (const std::size_t count : counts) {
      const auto points = static_cast<std::size_t>(extent.size());
      std::vector<int> visits(points * count, 0);
      std::vector<Kernel> kernels;
      for (std::size_t i = 0; i < count; ++i) kernels.push_back({&visits[i * points], extent});
      run_on_serial(extent, kernels);
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << count << " kernels";
    }
}

TEST(device_launches, run_every_index_of_every_kernel_exactly_once) {
  visit_once<count_visits>();
  visit_once<contract::count_wide_visits>();
}

TEST(device_launches, give_each_group_a_team_with_scratch_memory) {
  constexpr range extent{3, 2, 2};
  constexpr int groups = 12;
  constexpr int length = 200;
  for (const std::size_t count : counts) {
    std::vector<int> in(count * groups * length, 1);
    std::vector<std::int64_t> out(count * groups, -1);
    std::vector<sum_per_group> kernels;
    for (std::size_t i = 0; i < count; ++i)
      kernels.push_back({&in[i * groups * length], &out[i * groups], length});
    run_on_serial(extent, kernels);
    // The sum of a group depends on its x only: groups with equal x write equal values.
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t g = 0; g < groups; ++g)
        EXPECT_EQ(out[i * groups + g], g < 3 ? length : -1) << "group " << g << " of kernel " << i;
  }
}

TEST(device_launches, have_scratch_memory_beyond_the_nearest_level) {
  std::vector<int> in(256, 2);
  std::int64_t out = 0;
  constexpr std::size_t beyond = 1 << 20;
  ASSERT_GT(beyond, std::size_t(Kokkos::TeamPolicy<Kokkos::Serial>(1, 1).scratch_size_max(0)));
  run_on_serial<sum_per_group>(range{1}, {{in.data(), &out, 256}}, {64, beyond});
  EXPECT_EQ(out, 512);
}

/// A graph must not contain arguments that Kokkos would read from its own memory when it runs.
TEST(device_launches, of_a_capture_refuse_operations_that_a_graph_cannot_hold) {
  std::vector<int> in(256, 2);
  std::int64_t out = 0;
  const std::vector<sum_per_group> one{{in.data(), &out, 256}};
  EXPECT_THROW(run_on_serial(range{1}, one, {64, 1 << 20}, true), usage_error);
  EXPECT_EQ(out, 0);
  run_on_serial(range{1}, one, {64, sum_per_group::scratch_bytes}, true);
  EXPECT_EQ(out, 512);

  std::uint64_t sum = 7;
  const std::vector<contract::add_table<1000>> large{{&sum, {}}};
  EXPECT_THROW(run_on_serial(range{1}, large, {}, true), usage_error);
  EXPECT_EQ(sum, 7u);
  run_on_serial(range{1}, large);
}

int launches_left = 0;
void refuse_the_last(const char* kernel) {
  if (--launches_left == 0) throw device_error(kernel);
}

/// An aggregator submits the kernels again that have not started.
TEST(device_launches, that_are_refused_half_way_report_the_number_of_started_kernels) {
  std::vector<int> visits(200, 0);
  std::vector<count_visits> kernels;
  for (int& v : visits) kernels.push_back({&v, range{1}});
  auto call = starling::detail::make_call(range{1}, kernels.front(),
                                          starling::detail::default_shape<count_visits>());
  call.count = kernels.size();
  std::size_t started = 0;
  call.started = &started;
  launches_left = 2;
  EXPECT_THROW(detail::run_whole<count_visits>(call, Kokkos::Serial(),
                                               {nullptr, 0, 0, false, &refuse_the_last}),
               device_error);
  EXPECT_EQ(started, detail::many_kernels<count_visits>::capacity);
}

TEST(device_launches, of_more_groups_than_kokkos_counts_are_refused) {
  std::vector<int> in(256, 2);
  std::int64_t out = 0;
  for (const range extent : {range{65536, 65536}, range{1 << 30, 2, 1 << 30}})
    EXPECT_THROW(run_on_serial<sum_per_group>(extent, {{in.data(), &out, 256}}), usage_error);
}

}  // namespace
}  // namespace starling::kokkos
