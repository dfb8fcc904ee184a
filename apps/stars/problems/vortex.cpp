// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "problems/cell_average.hpp"
#include "problems/direction.hpp"
#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class vortex final : public problem {
 public:
  explicit vortex(const vortex_options& o)
      : problem("vortex", o.gamma, o.xscale, boundary_kind::periodic), m_strength(o.strength),
        m_radius(o.radius > 0.0 ? o.radius : default_vortex_radius(o.xscale)) {
    require(std::isfinite(o.speed), "speed must be finite");
    require(o.radius >= 0.0 && m_radius <= 0.25 * xscale,
            "radius must not be above a quarter of xscale: the vortex would meet its images");
    require(temperature(0.0) > 0.0, "strength is too large: no temperature is left in the centre");
    const auto n = direction(90.0, o.azimuth);
    for (std::size_t a = 0; a < 3; ++a) m_velocity[a] = o.speed * n[a];
    rules = {{field::rho, refinement_measure::difference, 0.02}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    return *exact(r, dx, 0.0);
  }
  [[nodiscard]] std::optional<gas_state> exact(const double (&r)[3], double dx,
                                               double time) const override {
    return cell_average(r, dx, gamma, [&](const double(&p)[3]) { return at(p, time); });
  }

 private:
  [[nodiscard]] gas_state at(const double (&r)[3], double time) const {
    const double x = from_centre(r[0] - m_velocity[0] * time),
                 y = from_centre(r[1] - m_velocity[1] * time);
    const double squared = x * x + y * y;
    const double swirl =
        m_strength / (2.0 * std::numbers::pi) * std::exp(0.5 * (1.0 - squared));  // over radius
    const double rho = std::pow(temperature(squared), 1.0 / (gamma - 1.0));
    return {rho,
            rho * temperature(squared),
            {m_velocity[0] - swirl * y, m_velocity[1] + swirl * x, m_velocity[2]},
            0};
  }
  /// Returns the distance from the nearest image of the vortex along an axis, over its radius.
  [[nodiscard]] double from_centre(double x) const {
    return std::remainder(x, 2.0 * xscale) / m_radius;
  }
  [[nodiscard]] double temperature(double squared) const {
    const double b = m_strength / (2.0 * std::numbers::pi);
    return 1.0 - (gamma - 1.0) * b * b / (2.0 * gamma) * std::exp(1.0 - squared);
  }

  double m_strength, m_radius, m_velocity[3];
};

}  // namespace

std::unique_ptr<problem> vortex_problem(const vortex_options& o) {
  return std::make_unique<vortex>(o);
}

}  // namespace stars
