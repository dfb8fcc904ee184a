// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "problems/cell_average.hpp"
#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class kelvin_helmholtz final : public problem {
 public:
  explicit kelvin_helmholtz(const shear_options& o)
      : problem("kelvin-helmholtz", o.gamma, o.xscale, boundary_kind::periodic),
        m_amplitude(o.amplitude), m_width(o.width) {
    require(std::abs(o.amplitude) < 0.5, "amplitude must be below 0.5");
    require(o.width > 0.0 && o.width <= 0.25, "width must be above 0 and at most 1/4 of the edge");
    rules = {{field::rho, refinement_measure::relative_difference, 0.05}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    return cell_average(r, dx, gamma, [&](const double(&p)[3]) { return at(p); });
  }

 private:
  [[nodiscard]] gas_state at(const double (&r)[3]) const {
    const double x = 0.5 * r[0] / xscale + 0.5, y = 0.5 * r[1] / xscale + 0.5;  // 0 to 1
    const double share = inner_share(y);
    return {1.0 + share,
            2.5,
            {0.5 - share, m_amplitude * std::sin(4.0 * std::numbers::pi * x), 0.0},
            0};
  }
  /// Returns how far the gas is on its way from the outer (0) to the inner (1) stream.
  [[nodiscard]] double inner_share(double y) const {
    const double depth = 0.25 - std::abs(y - 0.5);  // inside of the nearest layer
    const double tail = 0.5 * std::exp(-std::abs(depth) / m_width);
    return depth < 0.0 ? tail : 1.0 - tail;
  }

  double m_amplitude, m_width;
};

}  // namespace

std::unique_ptr<problem> kelvin_helmholtz_problem(const shear_options& o) {
  return std::make_unique<kelvin_helmholtz>(o);
}

}  // namespace stars
