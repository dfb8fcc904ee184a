// SPDX-License-Identifier: Apache-2.0
// Known properties of results, and that each check detects a wrong result.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "physics_support.hpp"

namespace jacobi3d::test {
namespace {

constexpr triple grid{14, 11, 9};

TEST(serial_solver, multiplies_the_mode_by_its_factor) {
  const problem start(problem_kind::mode, grid);
  serial_solver s(start);
  EXPECT_EQ(s.error(start), 0.0);
  for (int i = 0; i < 50; ++i) s.step();
  EXPECT_LE(s.error(start), problem::tolerance(50));
  EXPECT_GT(start.factor(), 0.9);
  EXPECT_LT(start.factor(), 1.0);
}

TEST(problem, mode_of_one_cell_loses_six_sevenths_in_a_step) {
  const problem start(problem_kind::mode, {1, 1, 1});
  EXPECT_NEAR(start.factor(), 1.0 / 7.0, 1e-16);
  EXPECT_EQ(start.values()(0, 0, 0), 1.0);
}

TEST(problem, mode_is_zero_on_the_boundary_and_symmetric) {
  const problem start(problem_kind::mode, grid);
  const initial_values v = start.values();
  EXPECT_EQ(v(-1, 4, 4), 0.0);
  EXPECT_EQ(v(grid.x, 4, 4), 0.0);
  EXPECT_EQ(v(3, grid.y, 4), 0.0);
  EXPECT_EQ(v(3, 4, -1), 0.0);
  EXPECT_EQ(v(3, 4, 2), v(grid.x - 4, 4, 2));
}

TEST(problem, random_values_lie_in_the_unit_interval_and_differ) {
  const problem start(problem_kind::random, grid, 5), other(problem_kind::random, grid, 6);
  const initial_values v = start.values();
  double sum_of_all = 0.0;
  for (int z = -1; z <= grid.z; ++z)
    for (int y = -1; y <= grid.y; ++y)
      for (int x = -1; x <= grid.x; ++x) {
        EXPECT_TRUE(v(x, y, z) >= 0.0 && v(x, y, z) < 1.0);
        sum_of_all += v(x, y, z);
      }
  EXPECT_NEAR(sum_of_all / double(volume({16, 13, 11})), 0.5, 0.03);
  EXPECT_NE(v(1, 2, 3), v(1, 3, 2));
  EXPECT_NE(v(1, 2, 3), other.values()(1, 2, 3));
}

TEST(problem, refuses_a_grid_without_cells) {
  EXPECT_THROW(problem(problem_kind::mode, {4, 0, 4}), std::invalid_argument);
}

TEST(problem, values_may_read_copies_of_the_tables) {
  const problem start(problem_kind::mode, grid);
  const std::vector<double> copy = start.tables();
  EXPECT_EQ(start.with(copy.data())(3, 4, 5), start.values()(3, 4, 5));
  EXPECT_EQ(copy.size(), std::size_t(grid.x + grid.y + grid.z + 6));
}

TEST(mode, blocks_keep_to_the_analytic_solution) {
  const problem start(problem_kind::mode, grid);
  for (const fusion how : {fusion::none, fusion::c}) {
    block_grid<one_thread> all(start, 6);
    for (int i = 0; i < 40; ++i) all.step(how);
    EXPECT_LE(all.error(start, 40), problem::tolerance(40));
    EXPECT_GT(all.error(start, 39), 1e3 * problem::tolerance(40)) << "a step too few is noticed";
  }
}

TEST(checksum, is_that_of_the_grid_for_any_decomposition) {
  const problem start(problem_kind::random, grid, 2);
  const std::uint64_t expected = serial_solver(start).checksum();
  for (const int blocks : {1, 2, 5, 8, 9})
    EXPECT_EQ(block_grid<one_thread>(start, blocks).checksum(), expected) << blocks;
}

TEST(checksum, notices_one_bit_and_two_cells_exchanged) {
  const problem start(problem_kind::random, grid, 2);
  block_grid<one_thread> all(start, 4);
  const std::uint64_t right = all.checksum();
  auto& b = all.at(2);
  double& cell = b.now[std::size_t(b.shape.at(1, 2, 1))];
  double& other = b.now[std::size_t(b.shape.at(2, 2, 1))];
  std::swap(cell, other);
  EXPECT_NE(all.checksum(), right);
  std::swap(cell, other);
  EXPECT_EQ(all.checksum(), right);
  cell = std::nextafter(cell, 2.0);
  EXPECT_NE(all.checksum(), right);
}

TEST(checksum, does_not_see_ghosts) {
  const problem start(problem_kind::random, grid, 2);
  block_grid<one_thread> all(start, 1);
  const std::uint64_t right = all.checksum();
  all.at(0).now[std::size_t(all.at(0).shape.at(-1, 2, 1))] = 9.0;
  EXPECT_EQ(all.checksum(), right);
}

TEST(checks, notice_a_halo_that_is_lost_on_any_face) {
  for (int f = 0; f < face_count; ++f)
    for (const fusion how : {fusion::none, fusion::b, fusion::c}) {
      const problem mode(problem_kind::mode, grid), random(problem_kind::random, grid);
      serial_solver reference(random);
      block_grid<one_thread> of_mode(mode, 8), of_random(random, 8);
      const int victim = f % 2 == 0 ? 7 : 0;  // has a neighbour there
      of_mode.lose(victim, face_of(f));
      of_random.lose(victim, face_of(f));
      for (int i = 0; i < 5; ++i) of_mode.step(how), of_random.step(how), reference.step();
      EXPECT_GT(of_mode.error(mode, 5), 1e6 * problem::tolerance(5)) << name_of(face_of(f));
      EXPECT_NE(of_random.checksum(), reference.checksum()) << name_of(face_of(f));
      EXPECT_FALSE(of_random.matches(reference));
    }
}

TEST(checks, notice_a_sum_in_another_order) {
  const problem start(problem_kind::random, grid, 4);
  serial_solver reference(start);
  reference.step();
  const initial_values v = start.values();
  std::uint64_t total = 0;
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y)
      for (int x = 0; x < grid.x; ++x) {
        const double next = mean_of(v(x, y, z), v(x + 1, y, z), v(x, y, z + 1), v(x, y - 1, z),
                                    v(x, y + 1, z), v(x, y, z - 1), v(x - 1, y, z));
        EXPECT_NEAR(next, reference.at(x, y, z), 1e-15);
        total += checksum_of(next, cell_number(grid, x, y, z));
      }
  EXPECT_NE(total, reference.checksum());
}

TEST(difference, is_nan_where_a_cell_is_nan) {
  const problem start(problem_kind::mode, grid);
  block_grid<one_thread> all(start, 2);
  all.step(fusion::none);
  EXPECT_GT(all.change(), 0.0);
  EXPECT_LT(all.change(), 1.0);
  auto& b = all.at(1);
  b.now[std::size_t(b.shape.at(3, 3, 3))] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(all.change()));
}

TEST(reductions, of_groups_of_many_threads_equal_those_of_one_thread) {
  const problem start(problem_kind::random, {37, 5, 4}, 8);
  const block_layout s(start.grid());
  std::vector<double> block(std::size_t(s.size()));
  one_thread()(fill_initial{s, {}, start.values(), block.data()});
  const checksum k{s, {block.data(), start.grid(), {}}, nullptr};
  for (const int threads : {1, 3, 33, 64}) {
    std::vector<pattern> partial(std::size_t(checksum::groups(s)), ~pattern{0});
    pattern result = 0;
    checksum mine = k;
    mine.partial = partial.data();
    run_with_threads(mine, threads);
    run_with_threads(reduce_sum{partial.data(), int(partial.size()), &result}, threads);
    EXPECT_EQ(result, serial_solver(start).checksum()) << threads;
    run_with_threads(reduce_largest{partial.data(), int(partial.size()), &result}, threads);
    EXPECT_EQ(result, *std::max_element(partial.begin(), partial.end())) << threads;
  }
}

}  // namespace
}  // namespace jacobi3d::test
