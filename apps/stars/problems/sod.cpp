// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "problems/problems.hpp"

namespace stars {
namespace {

class sod final : public problem {
 public:
  explicit sod(const sod_options& o) : problem("sod", o.gamma, o.xscale, boundary_kind::outflow) {
    const auto component = [](double v) { return std::abs(v) < 1e-15 ? 0.0 : v; };
    const double polar = o.polar * std::numbers::pi / 180.0;
    const double azimuth = o.azimuth * std::numbers::pi / 180.0;
    m_normal[0] = component(std::sin(polar) * std::cos(azimuth));
    m_normal[1] = component(std::sin(polar) * std::sin(azimuth));
    m_normal[2] = component(std::cos(polar));
    rules = {{field::rho, refinement_measure::relative_difference, 0.1}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double /*dx*/) const override {
    const bool left = m_normal[0] * r[0] + m_normal[1] * r[1] + m_normal[2] * r[2] < 0.0;
    return left ? gas_state{1.0, 1.0, {}, 0} : gas_state{0.125, 0.1, {}, 1};
  }

 private:
  double m_normal[3];
};

}  // namespace

std::unique_ptr<problem> sod_problem(const sod_options& o) { return std::make_unique<sod>(o); }

}  // namespace stars
