// SPDX-License-Identifier: Apache-2.0
#include "problems/direction.hpp"
#include "problems/problems.hpp"
#include "problems/require.hpp"

namespace stars {
namespace {

class uniform_flow final : public problem {
 public:
  explicit uniform_flow(const uniform_flow_options& o)
      : problem("uniform-flow", o.gamma, o.xscale, boundary_kind::periodic) {
    require(std::isfinite(o.speed), "speed must be finite");
    const auto n = direction(o.polar, o.azimuth);
    for (std::size_t a = 0; a < 3; ++a) m_gas.v[a] = o.speed * n[a];
  }

  [[nodiscard]] gas_state gas(const double (&)[3], double /*dx*/) const override { return m_gas; }
  [[nodiscard]] std::optional<gas_state> exact(const double (&)[3], double /*dx*/,
                                               double /*time*/) const override {
    return m_gas;
  }

 private:
  gas_state m_gas{1.0, 1.0, {}, 0};
};

}  // namespace

std::unique_ptr<problem> uniform_flow_problem(const uniform_flow_options& o) {
  return std::make_unique<uniform_flow>(o);
}

}  // namespace stars
