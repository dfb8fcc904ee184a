// SPDX-License-Identifier: Apache-2.0
// Known properties of results, and that each check detects a wrong result.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jacobi2d::test {
namespace {

constexpr extent grid{14, 21};

TEST(serial_solver, multiplies_the_mode_by_its_factor) {
  const problem start(problem_kind::mode, grid);
  serial_solver s(start);
  EXPECT_LE(s.error(start), start.tolerance(0));
  for (int i = 0; i < 50; ++i) s.step();
  EXPECT_LE(s.error(start), start.tolerance(50));
  EXPECT_GT(start.factor(), 0.9);
  EXPECT_LT(start.factor(), 1.0);
}

TEST(problem, mode_of_one_column_of_two_cells_is_halved_and_halved_again) {
  const problem start(problem_kind::mode, {1, 2});
  EXPECT_NEAR(start.factor(), 0.25, 1e-15);  // a quarter of each cell comes from the second cell
  EXPECT_NEAR(start.amplitude(3), 1.0 / 64.0, 1e-15);
}

TEST(problem, mode_is_zero_on_the_boundary_and_symmetric) {
  const problem start(problem_kind::mode, grid);
  const std::vector<double> elsewhere = start.tables();
  const initial_values v = start.with(elsewhere.data());
  EXPECT_EQ(v(-1, 4), 0.0F);
  EXPECT_EQ(v(grid.x, 4), 0.0F);
  EXPECT_EQ(v(3, -1), 0.0F);
  EXPECT_EQ(v(3, grid.y), 0.0F);
  EXPECT_EQ(v(3, 4), v(grid.x - 4, 4));
  EXPECT_EQ(elsewhere.size(), std::size_t(grid.x + grid.y + 4));
}

TEST(problem, random_values_lie_in_the_unit_interval_and_differ) {
  const problem start(problem_kind::random, {60, 60}, 5), other(problem_kind::random, {60, 60}, 6);
  const initial_values v = start.values();
  double total = 0.0;
  for (int y = -1; y <= 60; ++y)
    for (int x = -1; x <= 60; ++x) {
      EXPECT_TRUE(v(x, y) >= 0.0F && v(x, y) < 1.0F);
      total += v(x, y);
    }
  EXPECT_NEAR(total / (62.0 * 62.0), 0.5, 0.03);
  EXPECT_NE(v(1, 2), v(2, 1));
  EXPECT_NE(v(1, 2), other.values()(1, 2));
}

TEST(problem, refuses_a_grid_without_cells) {
  EXPECT_THROW(problem(problem_kind::mode, {4, 0}), std::invalid_argument);
}

TEST(mode, strips_keep_to_the_analytic_solution) {
  const problem start(problem_kind::mode, grid);
  strip_grid<one_thread> all(start, 6);
  for (int i = 0; i < 40; ++i) all.step();
  EXPECT_LE(all.error(start, 40), start.tolerance(40));
  EXPECT_GT(all.error(start, 39), 10.0 * start.tolerance(40)) << "a step too few is noticed";
}

TEST(mode, of_a_large_grid_reveals_a_missing_step) {
  for (const extent large : {extent{2000, 300}, extent{255, 8192}, extent{8192, 8192}}) {
    const problem start(problem_kind::mode, large);
    EXPECT_EQ(start.values()(large.x, 4), 0.0F);
    EXPECT_EQ(start.values()(3, large.y), 0.0F);
    for (const long steps : {1, 100, 1010, 1500})
      EXPECT_GT(start.amplitude(steps - 1) - start.amplitude(steps), start.tolerance(steps));
  }
}

TEST(mode, of_a_large_grid_exceeds_its_tolerance_until_it_has_decayed) {
  const problem start(problem_kind::mode, {8192, 8192});
  EXPECT_TRUE(start.shows(20'000));
  EXPECT_GT(start.amplitude(20'000), start.tolerance(20'000));
  EXPECT_FALSE(start.shows(30'000));
}

TEST(mode, stays_within_its_tolerance_until_it_has_decayed) {
  const problem start(problem_kind::mode, {40, 30});
  serial_solver s(start);
  long done = 0;
  for (const long steps : {100, 500, 4000}) {
    for (; done < steps; ++done) s.step();
    EXPECT_LE(s.error(start), start.tolerance(steps)) << steps;
  }
  EXPECT_TRUE(start.shows(500));
  EXPECT_FALSE(start.shows(4000));
}

TEST(mode, of_a_large_grid_is_multiplied_by_its_factor) {
  const problem start(problem_kind::mode, {700, 520});
  serial_solver s(start);
  for (int i = 0; i < 20; ++i) s.step();
  EXPECT_LE(s.error(start), start.tolerance(20));
}

TEST(checksum, is_that_of_the_grid_for_any_decomposition) {
  const problem start(problem_kind::random, grid, 2);
  const std::uint64_t expected = serial_solver(start).checksum();
  for (const int strips : {1, 2, 5, 21})
    EXPECT_EQ(strip_grid<one_thread>(start, strips).checksum(), expected) << strips;
}

TEST(checksum, notices_one_bit_and_two_cells_exchanged_and_does_not_see_ghosts) {
  const problem start(problem_kind::random, grid, 2);
  strip_grid<one_thread> all(start, 4);
  const std::uint64_t right = all.checksum();
  auto& s = all.at(2);
  float& cell = s.now[s.shape.at(1, 2)];
  float& other = s.now[s.shape.at(2, 2)];
  std::swap(cell, other);
  EXPECT_NE(all.checksum(), right);
  std::swap(cell, other);
  s.now[s.shape.at(-1, 2)] = 9.0F;
  s.now[s.shape.at(3, -1)] = 9.0F;
  EXPECT_EQ(all.checksum(), right);
  cell = std::nextafter(cell, 2.0F);
  EXPECT_NE(all.checksum(), right);
}

TEST(checks, notice_a_row_that_is_lost_on_either_side) {
  for (const side d : sides) {
    const problem mode(problem_kind::mode, grid), random(problem_kind::random, grid);
    serial_solver reference(random);
    strip_grid<one_thread> of_mode(mode, 5), of_random(random, 5);
    of_mode.lose(2, d), of_random.lose(2, d);
    for (int i = 0; i < 5; ++i) of_mode.step(), of_random.step(), reference.step();
    EXPECT_GT(of_mode.error(mode, 5), 1e3 * mode.tolerance(5));
    EXPECT_NE(of_random.checksum(), reference.checksum());
    EXPECT_FALSE(of_random.matches(reference));
  }
}

TEST(checks, notice_a_sum_in_another_order) {
  const problem start(problem_kind::random, grid, 4);
  serial_solver reference(start);
  reference.step();
  const initial_values v = start.values();
  std::uint64_t total = 0;
  for (int y = 0; y < grid.y; ++y)
    for (int x = 0; x < grid.x; ++x) {
      const float next = mean_of(v(x, y - 1), v(x + 1, y), v(x - 1, y), v(x, y + 1));
      EXPECT_NEAR(next, reference.at(x, y), 1e-6);
      total += apps::checksum_of(next, cell_number(grid, x, y));
    }
  EXPECT_NE(total, reference.checksum());
}

TEST(difference, is_nan_where_a_cell_is_nan) {
  const problem start(problem_kind::mode, grid);
  strip_grid<one_thread> all(start, 2);
  all.step();
  EXPECT_GT(all.change(), 0.0);
  EXPECT_LT(all.change(), 1.0);
  auto& s = all.at(1);
  s.now[s.shape.at(3, 3)] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(all.change()));
}

TEST(reductions, of_groups_of_many_threads_equal_those_of_one_thread) {
  const problem start(problem_kind::random, {37, 20}, 8);
  const strip_layout s(start.grid());
  aligned_array strip(s);
  one_thread()(fill_initial{s, 0, start.values(), strip.data()});
  for (const int threads : {1, 3, 33, 64}) {
    std::vector<pattern> partial(std::size_t(checksum::groups(s)), ~pattern{0});
    pattern result = 0;
    run_with_threads(checksum{s, {strip.data(), start.grid(), 0}, partial.data()}, threads);
    run_with_threads(reduce_sum{partial.data(), int(partial.size()), &result}, threads);
    EXPECT_EQ(result, serial_solver(start).checksum()) << threads;
    run_with_threads(reduce_largest{partial.data(), int(partial.size()), &result}, threads);
    EXPECT_EQ(result, *std::max_element(partial.begin(), partial.end())) << threads;
  }
}

}  // namespace
}  // namespace jacobi2d::test
