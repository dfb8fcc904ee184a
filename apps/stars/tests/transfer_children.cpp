// SPDX-License-Identifier: Apache-2.0
// The values of eight children from those of a coarse cell and its neighbours.
#include <gtest/gtest.h>

#include "tests/transfer_support.hpp"

namespace stars::test {
namespace {

using stencil_values = double[stencil_count];

/// Returns the position of a cell of the stencil from the centre.
triple from_centre(int k) { return {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1}; }

/// u <- the eight children.
void children_of(const stencil_values& u, double theta, bool keeps_sign, double (&to)[8]) {
  double d[child_pairs];
  deviations<double>(u, theta, d);
  for (int p = 0; p < child_pairs; ++p) {
    const double mean = u[stencil_centre];
    split<double>(mean, keeps_sign ? within<double>(mean, d[p]) : d[p], to[7 - p], to[p]);
  }
}

double largest_of(const double (&u)[8]) {
  double most = 0.0;
  for (const double v : u) most = std::fmax(most, std::fabs(v));
  return most;
}

/// u <- random values: `low()` in the neighbours around one corner, large ones opposite to it.
template <class Low>
void fill_steep(stencil_values& u, int corner, Low low, generator& random) {
  const triple v = place_of(corner);
  for (int k = 0; k < stencil_count; ++k) {
    const triple c = from_centre(k);
    const int along = c.x * (2 * v.x - 1) + c.y * (2 * v.y - 1) + c.z * (2 * v.z - 1);
    u[k] = along > 0 ? low() : along < 0 ? 10.0 + random() : 1.0 + random();
  }
}

/// Fails if theta is applied after the minimum with the mean, or if the limiter tests a b < 0.
TEST(children, slopes_are_limited_alike_in_both_directions) {
  EXPECT_EQ(limited_slope(1.0, 3.0, 1.5), 1.5);
  EXPECT_EQ(limited_slope(2.0, 3.0, 1.5), 2.5);
  EXPECT_EQ(limited_slope(-3.0, -1.0, 1.5), -1.5);
  EXPECT_EQ(limited_slope(1.0, -3.0, 1.5), 0.0);
  EXPECT_EQ(limited_slope(3e-200, -1e-200, 1.5), 0.0);
  EXPECT_EQ(limited_slope(0.0, 5.0, 1.5), 0.0);
  generator random(1);
  for (int k = 0; k < 10000; ++k) {
    const double a = (random() - 0.5) * wild(random), b = (random() - 0.5) * wild(random);
    for (const double theta : {theta_of_ghosts, theta_of_refinement}) {
      const double s = limited_slope(a, b, theta);
      ASSERT_EQ(s, limited_slope(b, a, theta));
      ASSERT_EQ(s, -limited_slope(-b, -a, theta));
    }
    const double least = std::fabs(a) < std::fabs(b) ? a : b;
    ASSERT_EQ(limited_slope(a, b, theta_of_refinement), (a < 0) == (b < 0) ? least : 0.0);
  }
}

/// Fails if NaN is taken for an extremum or loses each comparison.
TEST(children, a_slope_of_nan_is_nan) {
  const double nan = std::nan("");
  for (const double other : {-1.0, 0.0, 1.0, nan}) {
    EXPECT_TRUE(std::isnan(limited_slope(nan, other, theta_of_ghosts)));
    EXPECT_TRUE(std::isnan(limited_slope(other, nan, theta_of_ghosts)));
  }
}

/// Fails for any other weights, a diagonal with a wrong sign, or a limiter that acts here.
TEST(children, of_linear_data_are_exact) {
  for (const double theta : {theta_of_ghosts, theta_of_refinement}) {
    for (const triple a : {triple{0, 0, 0}, triple{64, 0, 0}, triple{0, -64, 0}, triple{0, 0, 64},
                           triple{64, 192, -320}, triple{-128, 64, 448}}) {
      stencil_values u;
      for (int k = 0; k < stencil_count; ++k) {
        const triple c = from_centre(k);
        u[k] = 1e4 + a.x * c.x + a.y * c.y + a.z * c.z;
      }
      double to[8];
      children_of(u, theta, true, to);
      for (int c = 0; c < 8; ++c) {
        const triple p = place_of(c);
        const int shift = a.x * (2 * p.x - 1) + a.y * (2 * p.y - 1) + a.z * (2 * p.z - 1);
        EXPECT_EQ(to[c], 1e4 + 0.25 * shift) << "child " << c;
      }
    }
  }
}

/// Fails without `split` (mean + d and mean - d rounded one by one), or if the mean adds other
/// children first.
TEST(children, average_to_their_parent) {
  generator random(2);
  int larger = 0;
  for (int n = 0; n < 20000; ++n) {
    stencil_values u;
    for (double& v : u) v = n % 2 == 0 ? random() - 0.5 : (random() - 0.5) * wild(random);
    double to[8];
    children_of(u, theta_of_ghosts, false, to);
    const double mean = u[stencil_centre];
    ASSERT_LE(std::fabs(mean_of_children(to) - mean), 2.0 * ulp(largest_of(to)));
    if (largest_of(to) > 2.0 * std::fabs(mean)) ++larger;
    children_of(u, theta_of_ghosts, true, to);
    ASSERT_EQ(mean_of_children(to), mean);
  }
  EXPECT_GT(larger, 1000);
}

/// A child lies between its coarse cell and the neighbours around this corner. Fails with a theta
/// of 2, as the second half shows.
TEST(children, stay_between_their_parent_and_its_neighbours) {
  generator random(3);
  int outside[2] = {};
  for (int n = 0; n < 20000; ++n) {
    stencil_values u;
    fill_steep(
        u, n % 8, [&] { return 0.1 * random(); }, random);
    double low = u[0], high = u[0];
    for (const double v : u) {
      low = std::fmin(low, v);
      high = std::fmax(high, v);
    }
    for (int k = 0; k < 2; ++k) {
      double to[8];
      children_of(u, k == 0 ? theta_of_ghosts : 2.0, false, to);
      for (const double v : to) {
        if (v < low * (1.0 - 1e-14) - 1e-15 || v > high * (1.0 + 1e-14)) ++outside[k];
      }
    }
  }
  EXPECT_EQ(outside[0], 0);
  EXPECT_GT(outside[1], 0);
}

/// Fails without `within`: rounding then makes children zero or negative, as the count shows.
TEST(children, of_positive_values_are_positive) {
  generator random(4);
  int rounded = 0;
  for (int n = 0; n < 20000; ++n) {
    stencil_values u;
    if (n % 3 == 0) {
      for (double& v : u) v = wild(random);
    } else {
      fill_steep(
          u, n % 8, [&] { return 1e-20 * (random() + 0.1); }, random);
    }
    double to[8];
    children_of(u, theta_of_ghosts, false, to);
    if (*std::min_element(to, to + 8) <= 0.0) ++rounded;
    children_of(u, theta_of_ghosts, true, to);
    ASSERT_GT(*std::min_element(to, to + 8), 0.0) << n;
  }
  EXPECT_GT(rounded, 0);
}

/// Fails if sums along a diagonal add the axes in another order than the sums of its mirror image.
TEST(children, of_a_mirror_image_are_mirror_images) {
  generator random(5);
  for (int n = 0; n < 2000; ++n) {
    stencil_values u;
    for (double& v : u) v = (random() - 0.5) * (n % 2 == 0 ? 1.0 : wild(random));
    double to[8];
    children_of(u, theta_of_ghosts, false, to);
    for (int axes = 1; axes < 8; ++axes) {
      const triple m = place_of(axes);
      stencil_values image;
      for (int k = 0; k < stencil_count; ++k) {
        const triple c = from_centre(k);
        image[stencil_centre + (m.x != 0 ? -c.x : c.x) + 3 * (m.y != 0 ? -c.y : c.y) +
              9 * (m.z != 0 ? -c.z : c.z)] = u[k];
      }
      double image_to[8];
      children_of(image, theta_of_ghosts, false, image_to);
      for (int c = 0; c < 8; ++c) ASSERT_EQ(image_to[c ^ axes], to[c]) << axes << ' ' << c;
      ASSERT_EQ(mean_of_children(image_to), mean_of_children(to));
    }
  }
}

}  // namespace
}  // namespace stars::test
