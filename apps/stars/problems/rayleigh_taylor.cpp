// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "problems/cell_average.hpp"
#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class rayleigh_taylor final : public problem {
 public:
  explicit rayleigh_taylor(const layer_options& o)
      : problem("rayleigh-taylor", o.gamma, o.xscale, boundary_kind::reflecting),
        m_amplitude(o.amplitude), m_width(2.0 * o.xscale * o.width) {
    require(std::abs(o.amplitude) < 0.5, "amplitude must be below 0.5");
    require(o.width > 0.0 && o.width <= 0.25, "width must be above 0 and at most 1/4 of the edge");
    require(std::isfinite(o.gravity), "gravity must be finite");
    gravity = o.gravity;
    require(pressure(xscale) > 0.0 && pressure(-xscale) > 0.0,
            "gravity is too strong: no pressure is left at a wall");
    rules = {{field::rho, refinement_measure::relative_difference, 0.05}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    return cell_average(r, dx, gamma, [&](const double(&p)[3]) { return at(p); });
  }

 private:
  [[nodiscard]] gas_state at(const double (&r)[3]) const {
    const double k = std::numbers::pi / xscale, x = k * r[0], z = 0.5 * k * r[2];
    return {1.5 + 0.5 * std::tanh(r[2] / m_width),
            pressure(r[2]),
            {0.5 * m_amplitude * std::sin(x) * std::sin(z), 0.0,
             m_amplitude * std::cos(x) * std::cos(z)},
            0};
  }
  /// Returns 5/2 minus the weight of the gas between the interface and the height z.
  [[nodiscard]] double pressure(double z) const {
    return 2.5 - gravity * (1.5 * z + 0.5 * m_width * std::log(std::cosh(z / m_width)));
  }

  double m_amplitude, m_width;
};

}  // namespace

std::unique_ptr<problem> rayleigh_taylor_problem(const layer_options& o) {
  return std::make_unique<rayleigh_taylor>(o);
}

}  // namespace stars
