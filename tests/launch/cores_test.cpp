// SPDX-License-Identifier: Apache-2.0
#include "launch/cores.hpp"

#include <gtest/gtest.h>

namespace {

using starling::launch::core;
using starling::launch::group_by_core;
using starling::launch::share_of;

std::vector<int> members(const cpu_set_t& set) {
  std::vector<int> found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) found.push_back(i);
  }
  return found;
}

/// Two packages of two cores with two threads each: processor = thread * 4 + core * 2 + package.
long interleaved(int processor, const std::string& name) {
  return name == "core_id" ? processor / 2 % 2 : processor % 2;
}

TEST(cores, hold_hardware_threads_and_are_sorted_by_package) {
  const auto cores = group_by_core({0, 1, 2, 3, 4, 5, 6, 7}, interleaved);
  EXPECT_EQ(cores, (std::vector<core>{{0, 4}, {2, 6}, {1, 5}, {3, 7}}));
}

TEST(cores, are_only_the_usable_ones) {
  EXPECT_EQ(group_by_core({1, 4}, interleaved), (std::vector<core>{{4}, {1}}));
}

TEST(cores, are_single_processors_without_a_known_topology) {
  const auto unknown = [](int, const std::string&) { return -1L; };
  EXPECT_EQ(group_by_core({0, 3}, unknown), (std::vector<core>{{0}, {3}}));
}

TEST(cores, are_divided_among_ranks_completely_and_without_overlap) {
  std::vector<core> cores;
  for (int i = 0; i < 7; ++i) cores.push_back({2 * i, 2 * i + 1});
  for (int size = 1; size <= 7; ++size) {
    std::vector<int> all;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<int> mine = members(share_of(cores, rank, size));
      EXPECT_GE(mine.size(), 2U * (7U / static_cast<unsigned>(size)));
      all.insert(all.end(), mine.begin(), mine.end());
    }
    ASSERT_EQ(all.size(), 14U);
    for (int i = 0; i < 14; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  }
}

TEST(cores, of_this_machine_are_found) { EXPECT_FALSE(starling::launch::usable_cores().empty()); }

}  // namespace
