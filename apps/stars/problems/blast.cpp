// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class blast final : public problem {
 public:
  blast(int finest_level, const blast_options& o)
      : problem("blast", o.gamma, o.xscale, o.boundary), m_ambient(o.ambient) {
    require(finest_level >= 0 && finest_level <= max_level,
            "level must be 0 to " + std::to_string(max_level));
    require(o.energy > 0.0 && std::isfinite(o.energy), "energy must be positive");
    require(o.ambient > 0.0 && std::isfinite(o.ambient), "ambient energy must be positive");
    require(o.radius >= 0.0 && std::isfinite(o.radius), "radius must not be negative");
    const int along = edge << finest_level;
    m_finest_dx = 2.0 * o.xscale / along;
    m_radius = o.radius > 0.0 ? o.radius : default_radius(finest_level, o.xscale);
    const long cells = cells_inside(along);
    require(cells > 0, "radius holds no cell centre at this level");
    m_density = o.energy / (static_cast<double>(cells) * (m_finest_dx * m_finest_dx * m_finest_dx));
    m_energy = o.energy;
    rules = {{field::rho, refinement_measure::difference, 0.1},
             {field::tau, refinement_measure::difference, 0.1}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    double radius = m_radius, density = m_density;
    if (dx > 1.5 * m_finest_dx && 3.5 * dx > radius) {  // else no coarse cell might be in the ball
      radius = 3.5 * dx;
      density = m_energy / (160.0 * (dx * dx * dx));
    }
    const double e = inside(r[0], r[1], r[2], radius) ? density : m_ambient;
    return gas_state{1.0, (gamma - 1.0) * e, {}, 0};
  }

 private:
  static bool inside(double x, double y, double z, double radius) {
    return (x * x + y * y) + z * z < radius * radius;
  }
  /// Returns the number of cells whose centres are in the ball, of a grid with `along` cells along
  /// an edge.
  [[nodiscard]] long cells_inside(int along) const {
    const double reach = std::fmin(m_radius, xscale);
    const int first = std::max(0, int((xscale - reach) / m_finest_dx) - 1);
    const int last = along - 1 - first;
    const auto centre = [&](int i) { return double(2 * i + 1 - along) * (xscale / along); };
    long cells = 0;
    for (int k = first; k <= last; ++k)
      for (int j = first; j <= last; ++j)
        for (int i = first; i <= last; ++i)
          cells += inside(centre(i), centre(j), centre(k), m_radius);
    return cells;
  }

  double m_ambient, m_radius, m_density, m_energy, m_finest_dx;
};

}  // namespace

std::unique_ptr<problem> blast_problem(int finest_level, const blast_options& o) {
  return std::make_unique<blast>(finest_level, o);
}

}  // namespace stars
