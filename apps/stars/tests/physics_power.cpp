// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernel/loop.hpp"
#include "kernel/power.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

double ulps(double got, long double exact) {
  const double rounded = static_cast<double>(exact);
  const double unit = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact) / unit));
}

TEST(power, is_within_two_units_in_the_last_place_over_the_whole_range) {
  generator random(1);
  double worst = 0.0;
  for (int i = 0; i < 50000; ++i) {
    const double x = std::pow(10.0, -300.0 + 480.0 * random());
    for (const double gamma : {1.4, 5.0 / 3.0, 1.1, 2.0}) {
      const double inverse = 1.0 / gamma;
      worst = std::fmax(
          worst, ulps(power(x, inverse),
                      std::pow(static_cast<long double>(x), static_cast<long double>(inverse))));
      const long double up = std::pow(static_cast<long double>(x), static_cast<long double>(gamma));
      if (up > 1e-307L && up < 1e300L) worst = std::fmax(worst, ulps(power(x, gamma), up));
    }
  }
  EXPECT_LT(worst, 1.0);
}

TEST(power, is_accurate_near_one_and_for_tiny_energies) {
  for (const double x : {1e-20, 1e-300, 5e-324, 2.3e-308, 1.0 - 0x1p-53, 1.0 + 0x1p-52, 0.7071,
                         1.4142135623730951, 1.4142135623730954, 3.0}) {
    for (const double y : {1.0 / 1.4, 0.6, 1.4, 5.0 / 3.0}) {
      const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
      if (exact < 1e-300L) continue;
      EXPECT_LT(ulps(power(x, y), exact), 1.0) << x << " to the " << y;
    }
  }
}

TEST(power, of_special_values) {
  EXPECT_EQ(power(1.0, 1.4), 1.0);
  EXPECT_EQ(power(0.0, 1.4), 0.0);
  EXPECT_EQ(power(-1.0, 1.4), 0.0);
  EXPECT_EQ(power(1e300, 1.4), std::numeric_limits<double>::infinity());
  EXPECT_EQ(power(1e-300, 1.4), 0.0);
  EXPECT_TRUE(std::isnan(power(std::nan(""), 1.4)));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(power(infinity, 1.4), infinity);
}

TEST(power, gives_subnormal_results) {
  const double x = 1e-228, y = 1.4;
  const auto exact =
      static_cast<double>(std::pow(static_cast<long double>(x), static_cast<long double>(y)));
  ASSERT_LT(exact, std::numeric_limits<double>::min());
  EXPECT_NEAR(power(x, y) / exact, 1.0, 1e-3);
  EXPECT_LE(std::fabs(power(x, y) - exact), 2 * std::numeric_limits<double>::denorm_min());
}

/// Also for NaN and for signed zeros.
TEST(lanes, have_the_minima_and_maxima_of_single_values) {
  using V = host_vector;
  const double values[] = {0.0, -0.0, 1.0, -2.0, std::nan(""), INFINITY};
  const auto same = [](double a, double b) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b));
  };
  for (const double& a : values) {
    for (const double& b : values) {
      same(V(ops<V>::max(V(a), V(b)))[0], ops<double>::max(a, b));
      same(V(ops<V>::min(V(a), V(b)))[0], ops<double>::min(a, b));
    }
  }
}

/// Compares single values with vectors, whose remaining lanes hold any values.
TEST(power, has_the_same_bits_in_vectors) {
  constexpr int width = static_cast<int>(host_vector::size());
  constexpr double special[] = {
      0.0,    -1.0,     -0.0,  1.0,    std::numeric_limits<double>::infinity(),
      5e-324, 2.3e-308, 1e300, 1e-300, 1e-228};
  generator random(2);
  for (int i = 0; i < 20000; ++i) {
    const double y = i % 2 == 0 ? 1.4 : 0.6;
    double x[width];
    for (int k = 0; k < width; ++k)
      x[k] =
          (i + k) % 5 == 0 ? special[(i / 5 + k) % 10] : std::pow(10.0, -300.0 + 480.0 * random());
    const host_vector got = power(host_vector(x, std::experimental::element_aligned), y);
    for (int k = 0; k < width; ++k)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(got[k])),
                std::bit_cast<std::uint64_t>(power(x[k], y)))
          << x[k] << " to the " << y;
  }
}

TEST(power, is_a_constant_expression) {
  constexpr double v = power(4.0, 0.5);
  static_assert(v == 2.0);
  EXPECT_EQ(v, 2.0);
}

}  // namespace
}  // namespace stars::test
