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
    const mesh finest{finest_level, o.xscale};
    m_radius = o.radius > 0.0 ? o.radius : default_radius(finest);
    const long cells = cells_inside(finest);
    require(cells > 0, "radius holds no cell centre at this level");
    m_density = o.energy / (static_cast<double>(cells) * finest.cell_volume());
    m_energy = o.energy;
    m_finest_dx = finest.dx();
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
  [[nodiscard]] long cells_inside(const mesh& grid) const {
    const double reach = std::fmin(m_radius, grid.xscale());
    const int first = std::max(0, int((grid.xscale() - reach) / grid.dx()) - 1);
    const int last = grid.cells_per_edge() - 1 - first;
    long cells = 0;
    for (int k = first; k <= last; ++k)
      for (int j = first; j <= last; ++j)
        for (int i = first; i <= last; ++i)
          cells += inside(grid.centre(i), grid.centre(j), grid.centre(k), m_radius);
    return cells;
  }

  double m_ambient, m_radius, m_density, m_energy, m_finest_dx;
};

}  // namespace

std::unique_ptr<problem> blast_problem(int finest_level, const blast_options& o) {
  return std::make_unique<blast>(finest_level, o);
}

}  // namespace stars
