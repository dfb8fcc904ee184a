// SPDX-License-Identifier: Apache-2.0
/// \file
/// The point explosion of Sedov and Taylor: in closed form, and as Octo-Tiger's tests tabulate it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace stars::test {

/// Density, radial velocity and pressure at a radius.
struct radial_gas {
  double rho = 1.0, v = 0.0, pressure = 0.0;
};

/// An explosion of energy 1 in gas of density 1 without pressure, gamma 1.4 (J. R. Kamm,
/// LA-UR-00-6055, standard case). Lengths and times are those of the code.
class exact_sedov {
 public:
  explicit exact_sedov(double time)
      : m_radius(1.032777468 * std::pow(time, 0.4)), m_speed(0.4 * m_radius / time) {}

  [[nodiscard]] double radius() const { return m_radius; }

  /// Returns the gas at radius r > 0.
  [[nodiscard]] radial_gas at(double r) const {
    if (r > m_radius) return {};
    const double wanted = std::log(r / m_radius);
    double low = -700.0, high = 0.0;  // of ln x2, which is 0 at the shock
    for (int k = 0; k < 200 && low < high; ++k) {
      const double middle = 0.5 * (low + high);
      if (middle == low || middle == high) break;
      (terms(middle).ln_radius < wanted ? low : high) = middle;
    }
    const terms t(low);
    const double after = m_speed / 1.2;  // velocity behind the shock
    return {6.0 * std::exp(a3 * t.ln_x2 + a4 * t.ln_x3 + a5 * t.ln_x4),
            after * t.x1 * std::exp(t.ln_radius),
            m_speed * after *
                std::exp(1.2 * t.ln_x1 + (a4 - 2.0 * a1) * t.ln_x3 + (1.0 + a5) * t.ln_x4)};
  }

 private:
  // The exponents of Kamm's equations 42 to 47.
  static constexpr double a2 = -0.4 / 3.8, a1 = 7.0 / 3.2 * (3.6 / 35.0 - a2), a3 = 3.0 / 3.8,
                          a4 = 15.0 * a1 / 1.8, a5 = -6.0 / 1.8;

  /// Kamm's x1 to x4 (equations 33 to 37) as functions of x2, which has no cancellation at the
  /// centre.
  struct terms {
    double ln_x2, x1, ln_x1, ln_x3, ln_x4, ln_radius;
    explicit terms(double ln) : ln_x2(ln) {
      const double cv = 1.0 + std::exp(ln) / 6.0, v = cv / 3.5;
      x1 = 3.0 * v;
      ln_x1 = std::log(x1);
      ln_x3 = std::log(12.0 / 5.6 * (1.0 - 1.6 * v));
      ln_x4 = std::log(6.0 * (1.0 - cv / 1.4));
      ln_radius = -0.4 * ln_x1 - a2 * ln_x2 - a1 * ln_x3;
    }
  };

  double m_radius, m_speed;
};

/// The solution as Octo-Tiger's tests read it (its sedovf_c.cpp): 10 000 values up to radius 3,
/// with cubic interpolation across the shock too. They are interpolated as if they were 3/10 002
/// apart. Both change the norms by half a percent.
class tabulated_sedov {
 public:
  explicit tabulated_sedov(double time) {
    const exact_sedov exact(time);
    for (int k = 0; k < count + 2 * margin; ++k) {
      const double r = (k - margin + 0.5) * extent / count;
      radial_gas g = exact.at(std::fabs(r));
      if (r < 0.0) g.v = -g.v;
      m_table.push_back(g);
    }
  }
  [[nodiscard]] radial_gas at(double r) const {
    const double place = r / (extent / (count + margin)) + (margin - 0.5);
    const auto k = static_cast<std::size_t>(place);
    const double x = place - static_cast<double>(k);
    const auto value = [&](double radial_gas::*of) {
      const double a = m_table[k - 1].*of, b = m_table[k].*of, c = m_table[k + 1].*of,
                   d = m_table[k + 2].*of;
      return (((-0.5 * a + 1.5 * b - 1.5 * c + 0.5 * d) * x + (a - 2.5 * b + 2.0 * c - 0.5 * d)) *
                  x +
              0.5 * (c - a)) *
                 x +
             b;
    };
    return {value(&radial_gas::rho), value(&radial_gas::v), value(&radial_gas::pressure)};
  }

 private:
  static constexpr int count = 10000, margin = 2;
  static constexpr double extent = 3.0;
  std::vector<radial_gas> m_table;
};

}  // namespace stars::test
