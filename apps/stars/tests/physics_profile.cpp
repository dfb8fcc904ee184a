// SPDX-License-Identifier: Apache-2.0
// Profiles of five cells on a line, with and without kept extrema.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hydro/profile.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

using line = std::array<double, 5>;  // the profile is that of the cell in the middle
using ends = std::array<double, 2>;  // lower and upper

template <profile_kind Kind>
ends ends_of(const line& u, double jump = 1e9) {
  const double* const none = nullptr;
  const profile<double> p = profile_of<double, Kind>(&u[2], 1, none, &jump);
  return {p.lower(), p.upper()};
}

/// Returns the means of a + b x + c x² + d x³ over five cells of width 1, the middle one around
/// `x`.
line means(double x, double a, double b, double c, double d) {
  line u;
  for (int k = 0; k < 5; ++k) {
    const double m = x + k - 2;
    u[std::size_t(k)] = a + b * m + c * (m * m + 1.0 / 12.0) + d * (m * m * m + 0.25 * m);
  }
  return u;
}

TEST(profiles, that_keep_extrema_are_exact_for_parabolas) {
  for (const double x : {-1.0, -0.5, -0.25, 0.0, 0.125, 0.5, 0.75, 3.0})
    for (const double c : {2.0, -2.0}) {
      const auto value = [&](double at) { return 0.5 + c * at * at; };
      const line u = means(x, 0.5, 0.0, c, 0.0);
      const ends found = ends_of<profile_kind::limited_x>(u);
      EXPECT_NEAR(found[0], value(x - 0.5), 1e-14) << x << ' ' << c;
      EXPECT_NEAR(found[1], value(x + 0.5), 1e-14) << x << ' ' << c;
    }
  const ends flat = ends_of<profile_kind::limited>(means(0.0, 0.5, 0.0, 2.0, 0.0));
  EXPECT_EQ(flat[0], flat[1]) << "ppm makes an extremum flat";
  EXPECT_GT(flat[0], 0.6);
}

TEST(profiles, that_keep_extrema_are_exact_for_monotone_cubics) {
  for (const double x : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
    const ends found = ends_of<profile_kind::limited_x>(means(x, 1.0, 3.0, 0.0, 1.0));
    const auto value = [](double at) { return 1.0 + 3.0 * at + at * at * at; };
    EXPECT_NEAR(found[0], value(x - 0.5), 1e-13) << x;
    EXPECT_NEAR(found[1], value(x + 0.5), 1e-13) << x;
  }
}

TEST(profiles, that_keep_extrema_are_flat_at_those_of_noise) {
  const ends found = ends_of<profile_kind::limited_x>({1.0, -1.0, 1.0, -1.0, 1.0});
  EXPECT_EQ(found, (ends{1.0, 1.0}));
  EXPECT_EQ(ends_of<profile_kind::limited_x>({0.0, 0.0, 1.0, 0.0, 0.0}), (ends{1.0, 1.0}));
}

TEST(profiles, that_keep_extrema_limit_the_curvature_of_sharp_ones) {
  // By hand: interfaces 1.45/12 and 0.55/12 below the means of the cells, curvature 6 (up - down),
  // of which 1.25 times the second difference of the upper neighbour is kept.
  const line u = {2.0, 1.0, 0.1, 0.1, 1.0};
  const ends found = ends_of<profile_kind::limited_x>(u);
  EXPECT_NEAR(found[0], 0.13525641025641, 1e-14);
  EXPECT_NEAR(found[1], 0.08557692307692, 1e-14);
  line negative;
  for (std::size_t k = 0; k < 5; ++k) negative[k] = -u[k];
  EXPECT_EQ(ends_of<profile_kind::limited_x>(negative), (ends{-found[0], -found[1]}));
}

TEST(profiles, that_keep_extrema_of_positive_cells_have_the_bounds_of_ppm) {
  generator random(7);
  const auto expect_positive = [](const line& u) {
    for (const ends& found :
         {ends_of<profile_kind::positive_x>(u), ends_of<profile_kind::limited>(u),
          ends_of<profile_kind::steepened_x>(u, 0.1)})
      for (const double end : found) {
        ASSERT_GT(end, 0.0) << testing::PrintToString(u);
        ASSERT_LE(end, (3.0 + 1e-12) * u[2]) << testing::PrintToString(u);
      }
  };
  expect_positive({0.3, 0.1, 1e-10, 1e-10, 0.1});
  expect_positive({1.0, 0.1, 0.001, 0.001, 0.1});
  for (int k = 0; k < 100'000; ++k) {
    line u;
    for (double& v : u) v = std::pow(random(), 8.0) + 1e-12;
    expect_positive(u);
  }
}

TEST(profiles, that_keep_extrema_make_no_new_ones_of_monotone_cells) {
  generator random(5);
  for (int k = 0; k < 20000; ++k) {
    line u;
    for (double& v : u) v = std::pow(random(), 8.0);  // steps of all sizes
    std::sort(u.begin(), u.end());
    const ends found = ends_of<profile_kind::limited_x>(u);
    ASSERT_LE(u[1], found[0]) << k;
    ASSERT_LE(found[0], u[2]) << k;
    ASSERT_LE(u[2], found[1]) << k;
    ASSERT_LE(found[1], u[3]) << k;
  }
}

TEST(profiles, that_keep_extrema_are_those_of_ppm_where_they_are_steepened) {
  const line contact = {1.0, 1.0, 1.6, 2.0, 2.0};  // without a jump of the pressure
  const ends steep = ends_of<profile_kind::steepened>(contact, 0.0);
  const ends found = ends_of<profile_kind::steepened_x>(contact, 0.0);
  EXPECT_NEAR(found[0], steep[0], 1e-15);
  EXPECT_NEAR(found[1], steep[1], 1e-15);
  EXPECT_NE(steep, ends_of<profile_kind::limited>(contact, 0.0));
  const line wave = means(0.1, 2.0, 0.0, 0.1, 0.0);
  EXPECT_EQ(ends_of<profile_kind::steepened_x>(wave, 0.0), ends_of<profile_kind::limited_x>(wave));
}

TEST(profiles, that_keep_extrema_have_mirrored_bits_in_mirrored_cells) {
  generator random(6);
  for (int k = 0; k < 20000; ++k) {
    line u;
    for (double& v : u) v = random() - 0.5;
    line mirrored = u;
    std::reverse(mirrored.begin(), mirrored.end());
    ends found = ends_of<profile_kind::steepened_x>(u, 0.1);
    std::reverse(found.begin(), found.end());
    ASSERT_EQ(ends_of<profile_kind::steepened_x>(mirrored, 0.1), found) << k;
  }
}

}  // namespace
}  // namespace stars::test
