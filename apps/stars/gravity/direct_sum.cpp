// SPDX-License-Identifier: Apache-2.0
#include "gravity/direct_sum.hpp"

#include <cmath>

#include "gravity/fields.hpp"

namespace stars {

std::vector<point_mass> point_masses(const octree& tree, double xscale,
                                     std::span<const double> density) {
  std::vector<point_mass> masses;
  for (int leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    const node_key& key = tree.key(leaf);
    const double dx = 2.0 * xscale / (edge << key.level);
    const auto centre = [&](int axis, int cell) {
      return (edge * key.place[axis] + cell + 0.5) * dx - xscale;
    };
    for (int z = 0; z < edge; ++z)
      for (int y = 0; y < edge; ++y)
        for (int x = 0; x < edge; ++x)
          masses.push_back(
              {density[masses.size()] * dx * dx * dx, {centre(0, x), centre(1, y), centre(2, z)}});
  }
  return masses;
}

attraction direct_sum(std::span<const point_mass> masses, std::size_t receiver) {
  attraction sum;
  const std::array<double, 3>& at = masses[receiver].at;
  for (std::size_t k = 0; k < masses.size(); ++k) {
    if (k == receiver) continue;
    const std::array<double, 3>& other = masses[k].at;
    const std::array<double, 3> d{other[0] - at[0], other[1] - at[1], other[2] - at[2]};
    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    const double over_r = 1.0 / std::sqrt(r2), factor = masses[k].mass * over_r / r2;
    sum.potential -= masses[k].mass * over_r;
    for (std::size_t a = 0; a < 3; ++a) sum.acceleration[a] += factor * d[a];
  }
  return sum;
}

attraction attraction_of(std::span<const double> results, std::size_t cell) {
  const int c = int(cell % cells_per_subgrid);
  const auto place = std::size_t(place_of_cell({c % edge, c / edge % edge, c / (edge * edge)}));
  const std::size_t leaf = cell / cells_per_subgrid;
  const auto at = [&](std::size_t k) {
    return results[(leaf * result_count + k) * cells_per_subgrid + place];
  };
  return {at(0), {at(1), at(2), at(3)}};
}

gravity_errors errors_of(std::span<const point_mass> masses, std::span<const double> results,
                         int samples) {
  double potential = 0.0, acceleration = 0.0;
  for (int k = 0; k < samples; ++k) {
    // Far from each other, and never the same places in a sub-grid: the golden section.
    const double part = std::fmod((k + 0.5) * 0.6180339887498949, 1.0);
    const auto n = std::size_t(part * double(masses.size()));
    const attraction exact = direct_sum(masses, n), found = attraction_of(results, n);
    std::array<double, 3> difference = found.acceleration;
    for (std::size_t a = 0; a < 3; ++a) difference[a] -= exact.acceleration[a];
    potential += std::pow(found.potential / exact.potential - 1.0, 2);
    acceleration += std::pow(length(difference) / length(exact.acceleration), 2);
  }
  return {std::sqrt(potential / samples), std::sqrt(acceleration / samples)};
}

force_balance balance_of(std::span<const point_mass> masses, std::span<const double> results) {
  residual force, torque;
  for (std::size_t n = 0; n < masses.size(); ++n) {
    std::array<double, 3> f = attraction_of(results, n).acceleration;
    for (double& a : f) a *= masses[n].mass;
    force.add(f, length(f));
    torque.add(cross(masses[n].at, f), length(masses[n].at) * length(f));
  }
  return {force.value(), torque.value()};
}

void residual::add(const std::array<double, 3>& v, double scale) {
  for (std::size_t a = 0; a < 3; ++a) m_sums[a].add(v[a]);
  m_scale.add(scale);
}
double residual::value() const {
  return length({m_sums[0].value(), m_sums[1].value(), m_sums[2].value()}) / m_scale.value();
}

double length(const std::array<double, 3>& v) {
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}
std::array<double, 3> cross(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

}  // namespace stars
