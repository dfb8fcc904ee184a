// SPDX-License-Identifier: Apache-2.0
#include "problems/direction.hpp"
#include "problems/problems.hpp"

namespace stars {
namespace {

class sod final : public problem {
 public:
  explicit sod(const sod_options& o)
      : problem("sod", o.gamma, o.xscale, boundary_kind::outflow),
        m_normal(direction(o.polar, o.azimuth)) {
    rules = {{field::rho, refinement_measure::relative_difference, 0.1}};
  }

  [[nodiscard]] gas_state gas(const double (&r)[3], double /*dx*/) const override {
    const bool left = m_normal[0] * r[0] + m_normal[1] * r[1] + m_normal[2] * r[2] < 0.0;
    return left ? gas_state{1.0, 1.0, {}, 0} : gas_state{0.125, 0.1, {}, 1};
  }

 private:
  std::array<double, 3> m_normal;
};

}  // namespace

std::unique_ptr<problem> sod_problem(const sod_options& o) { return std::make_unique<sod>(o); }

}  // namespace stars
