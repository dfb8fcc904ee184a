// SPDX-License-Identifier: Apache-2.0
// Moments and expansions of a few masses.
#include <gtest/gtest.h>

#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

using vec = vector3<double>;

struct mass {
  double amount;
  vec at;
};

/// Returns masses around a centre, at most `size` from it along each axis.
std::vector<mass> cluster(std::uint64_t seed, double size) {
  generator random(seed);
  const auto coordinate = [&] { return size * (2.0 * random() - 1.0); };
  std::vector<mass> masses;
  for (int n = 0; n < 5; ++n)
    masses.push_back({0.1 + random(), {coordinate(), coordinate(), coordinate()}});
  return masses;
}

vec centre_of_mass(const std::vector<mass>& masses) {
  double total = 0.0;
  vec sum;
  for (const mass& m : masses) {
    total += m.amount;
    sum = sum + m.amount * m.at;
  }
  return (1.0 / total) * sum;
}

/// The moments of masses about a point, by `add_moments` of single masses.
series<double> moments_about(const std::vector<mass>& masses, const vec& centre) {
  series<double> sum;
  for (const mass& m : masses) {
    series<double> one;
    one.at[term::one] = m.amount;
    add_moments(one, m.at - centre, sum);
  }
  return sum;
}

vec opposite(const vec& v) { return vec{} - v; }

std::array<double, 3> numbers_of(const vec& v) { return {v.x, v.y, v.z}; }

TEST(expansion, moments_are_powers_of_distances_over_factorials) {
  const series<double> m = moments_about({{2.0, {3.0, 5.0, 7.0}}}, {1.0, 1.0, 1.0});
  EXPECT_EQ(m.at[term::one], 2.0);
  EXPECT_EQ(m.at[term::y], 2.0 * 4.0);
  EXPECT_EQ(m.at[term::xx], 2.0 * 2.0 * 2.0 / 2.0);
  EXPECT_EQ(m.at[term::xz], 2.0 * 2.0 * 6.0);
  EXPECT_DOUBLE_EQ(m.at[term::zzz], 2.0 * 6.0 * 6.0 * 6.0 / 6.0);
  EXPECT_EQ(m.at[term::xyz], 2.0 * 2.0 * 4.0 * 6.0);
  EXPECT_EQ(m.at[term::xyy], 2.0 * 2.0 * 4.0 * 4.0 / 2.0);
}

TEST(expansion, moments_move_to_another_centre_without_loss) {
  const std::vector<mass> masses = cluster(1, 1.0);
  const vec from{0.3, -0.2, 0.7}, to{-1.0, 2.0, 0.5};
  series<double> moved;
  add_moments(moments_about(masses, from), from - to, moved);
  const series<double> expected = moments_about(masses, to);
  for (int t = 0; t < term::count; ++t) EXPECT_NEAR(moved.at[t], expected.at[t], 1e-13) << t;
}

TEST(expansion, derivatives_are_those_of_lower_orders) {
  const vec at{0.7, -1.1, 0.4};
  constexpr double h = 1e-4;
  const auto derivatives = [](const vec& x) { return inverse_distance<double>(x).derivatives(); };
  const series<double> d = derivatives(at);
  const vec axes[] = {{h, 0.0, 0.0}, {0.0, h, 0.0}, {0.0, 0.0, h}};
  EXPECT_DOUBLE_EQ(d.at[term::one], -1.0 / length(numbers_of(at)));
  for (int a = 0; a < 3; ++a) {
    const series<double> up = derivatives(at + axes[a]), down = derivatives(at - axes[a]);
    for (int t = 0; t < term::count; ++t) {
      const int next = product(t, term::x + a);
      if (next < 0) continue;
      EXPECT_NEAR(d.at[next], (up.at[t] - down.at[t]) / (2.0 * h), 1e-6) << t << ' ' << a;
    }
  }
}

TEST(expansion, derivatives_obey_the_equation_of_laplace) {
  const series<double> d = inverse_distance<double>({0.7, -1.1, 0.4}).derivatives();
  EXPECT_NEAR(d.at[term::xx] + d.at[term::yy] + d.at[term::zz], 0.0, 1e-15);
  EXPECT_NEAR(d.at[term::xxx] + d.at[term::xyy] + d.at[term::xzz], 0.0, 1e-14);
  EXPECT_NEAR(d.at[term::xxz] + d.at[term::yyz] + d.at[term::zzz], 0.0, 1e-14);
}

/// Polynomials of the third order keep their values.
TEST(expansion, expansions_move_to_another_centre_without_loss) {
  generator random(3);
  series<double> e;
  for (double& c : e.at) c = random() - 0.5;
  const auto value = [](const series<double>& s, const vec& d) {
    const series<double> p = powers(d);
    double sum = 0.0;
    for (int t = 0; t < term::count; ++t) sum += s.at[t] * p.at[t];
    return sum;
  };
  const vec step{0.3, -0.4, 0.2}, at{-0.6, 0.1, 0.5};
  series<double> moved;
  add_expansion(e, step, moved);
  EXPECT_NEAR(value(moved, at), value(e, step + at), 1e-14);
}

/// The relative error of the potential of one cluster in a mass of another at a distance.
double error_at(double distance, bool dipoles) {
  const std::vector<mass> sources = cluster(1, 1.0);
  const vec origin = dipoles ? vec{} : centre_of_mass(sources), receiver{distance, 0.3, -0.2};
  const vec offset{0.5, -0.4, 0.6};
  const series<double> m = moments_about(sources, origin);
  const series<double> d = inverse_distance<double>(receiver - origin).derivatives();
  series<double> about, at;
  if (dipoles)
    add_potential<true, highest_order>(m, d, about);
  else
    add_potential<false, highest_order>(m, d, about);
  add_expansion(about, offset, at);
  double exact = 0.0;
  for (const mass& s : sources) exact -= s.amount / length(numbers_of(receiver + offset - s.at));
  return std::abs(at.at[term::one] / exact - 1.0);
}

TEST(expansion, the_error_of_the_potential_falls_with_the_fourth_power_of_the_distance) {
  for (const bool dipoles : {false, true}) {
    const double order = std::log2(error_at(16.0, dipoles) / error_at(32.0, dipoles));
    EXPECT_GT(order, 3.7) << dipoles;
    EXPECT_LT(order, 4.5) << dipoles;
  }
}

/// Two clusters attract each other by expansions. Their forces and torques.
force_balance balance_of_clusters(bool corrected) {
  const std::vector<mass> clusters[] = {cluster(1, 1.0), cluster(2, 1.0)};
  const vec places[] = {{}, {3.0, 1.0, -2.0}};
  vec centres[2];
  series<double> moments[2];
  for (int k = 0; k < 2; ++k) {
    centres[k] = centre_of_mass(clusters[k]);
    moments[k] = moments_about(clusters[k], centres[k]);
  }
  residual force, torque;
  for (int k = 0; k < 2; ++k) {
    const series<double>&own = moments[k], &other = moments[1 - k];
    const inverse_distance<double> from((places[k] + centres[k]) -
                                        (places[1 - k] + centres[1 - k]));
    series<double> about;
    add_potential<false, highest_order>(other, from.derivatives(), about);
    series<double> third;
    for (int t = term::xxx; t < term::count; ++t)
      third.at[t] = other.at[t] - other.at[term::one] / own.at[term::one] * own.at[t];
    vec correction;
    if (corrected) add_correction(third, from, correction);
    for (const mass& m : clusters[k]) {
      series<double> at;
      add_expansion(about, m.at - centres[k], at);
      const vec g = opposite({at.at[term::x], at.at[term::y], at.at[term::z]}) - correction;
      const auto f = numbers_of(m.amount * g), r = numbers_of(places[k] + m.at);
      force.add(f, length(f));
      torque.add(cross(r, f), length(r) * length(f));
    }
  }
  return {force.value(), torque.value()};
}

TEST(expansion, clusters_exert_opposite_forces) {
  EXPECT_LT(balance_of_clusters(true).force, 1e-15);
  EXPECT_LT(balance_of_clusters(false).force, 1e-15);
}

TEST(expansion, the_correction_removes_the_torque) {
  EXPECT_LT(balance_of_clusters(true).torque, 1e-15);
  EXPECT_GT(balance_of_clusters(false).torque, 1e-5);
}

}  // namespace
}  // namespace stars::test
