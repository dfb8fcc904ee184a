// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class linear_wave final : public problem {
 public:
  explicit linear_wave(const wave_options& o)
      : problem("linear-wave", o.gamma, o.xscale, boundary_kind::periodic), m_axis(o.axis),
        m_amplitude(o.amplitude) {
    require(o.axis >= 0 && o.axis < 3, "axis must be 0, 1 or 2");
    require(std::abs(o.amplitude) < 0.5, "amplitude must be below 0.5");
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double dx) const override {
    return at(r[m_axis], dx);
  }
  /// To first order in the amplitude.
  [[nodiscard]] std::optional<gas_state> exact(const double (&r)[3], double dx,
                                               double time) const override {
    return at(r[m_axis] - time, dx);
  }

 private:
  [[nodiscard]] gas_state at(double x, double dx) const {
    const double k = std::numbers::pi / xscale;
    // The mean of sin(k x) over a cell is sin(k x) sin(k dx/2) / (k dx/2).
    const double half = 0.5 * k * dx;
    const double d = m_amplitude * (std::sin(half) / half) * std::sin(k * x);
    gas_state g{1.0 + d, 1.0 / gamma + d, {}, 0};
    g.v[m_axis] = d;
    return g;
  }

  int m_axis;
  double m_amplitude;
};

}  // namespace

std::unique_ptr<problem> linear_wave_problem(const wave_options& o) {
  return std::make_unique<linear_wave>(o);
}

}  // namespace stars
