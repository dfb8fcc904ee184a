// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "../../benchmarks/task_graphs/graph.hpp"

namespace task_graphs {
namespace {

using names = std::vector<std::string>;

TEST(task_graphs, find_five_patterns_that_are_one_graph_at_width_2) {
  const auto sets = coinciding_patterns({.width = 2});
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0], (names{"stencil_1d", "stencil_1d_periodic", "fft", "nearest", "spread"}));
}

TEST(task_graphs, differ_from_each_other_at_widths_of_4_and_more) {
  for (const int width : {4, 8, 16, 32, 64, 256})
    EXPECT_EQ(coinciding_patterns({.width = width}), std::vector<names>{}) << "width " << width;
}

TEST(task_graphs, find_that_three_nearest_points_are_the_stencil_at_any_width) {
  const auto sets = coinciding_patterns({.width = 16, .radix = 3});
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0], (names{"stencil_1d", "nearest"}));
}

TEST(task_graphs, are_equal_if_all_tasks_have_the_same_inputs) {
  const shape four{.steps = 10, .width = 4};
  EXPECT_EQ(graph("fft", four), graph("fft", four));
  EXPECT_NE(graph("fft", four), graph("fft", {.steps = 11, .width = 4}));
  EXPECT_NE(graph("no_comm", four), graph("trivial", four));
  EXPECT_NE(graph("dom", four), graph("stencil_1d", four)) << "a wavefront lacks tasks";
}

}  // namespace
}  // namespace task_graphs
