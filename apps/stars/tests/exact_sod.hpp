// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace stars::test {

/// Exact density of Sod's tube at s = x/t, from the known star state (gamma = 1.4).
class exact_sod {
 public:
  double density(double s) const {
    if (s < -m_left_sound) return 1.0;
    if (s < m_velocity - m_star_sound) {  // inside the rarefaction
      const double c = (2.0 * m_left_sound - 0.4 * s) / 2.4;
      return std::pow(c / m_left_sound, 5.0);
    }
    if (s < m_velocity) return m_left_star;
    return s < m_shock ? m_right_star : 0.125;
  }
  /// Returns the mean over [a, b], by fine midpoint sums between the breakpoints of the solution.
  double mean(double a, double b, double t) const {
    const double wave[] = {-m_left_sound, m_velocity - m_star_sound, m_velocity, m_shock};
    double sum = 0.0, from = a;
    for (int k = 0; k <= 4; ++k) {
      const double to = k == 4 ? b : std::fmin(b, std::fmax(a, wave[k] * t));
      const int parts = 64;
      for (int i = 0; i < parts; ++i) {
        sum += density((from + (to - from) * (i + 0.5) / parts) / t) * (to - from) / parts;
      }
      from = to;
    }
    return sum / (b - a);
  }
  /// Returns the mean as Octo-Tiger's tests compute it: with 1, 2, 4 … `most` midpoints, until the
  /// distance from `value` changes by less than a tenth.
  double sampled_mean(double value, double centre, double dx, double t, int most) const {
    double mean = density(centre / t);
    for (int points = 2; points <= most; points *= 2) {
      const double before = std::fabs(value - mean);
      if (before == 0.0) break;
      mean = 0.0;
      for (int i = 0; i < points; ++i) {
        mean += density((centre + ((i + 0.5) / points - 0.5) * dx) / t) / points;
      }
      if (std::fabs(std::fabs(value - mean) / before - 1.0) < 0.1) break;
    }
    return mean;
  }
  double right_star() const { return m_right_star; }
  double shock() const { return m_shock; }

 private:
  double m_pressure = 0.303130178051, m_velocity = 0.927452620049, m_shock = 1.75215573203;
  double m_left_sound = std::sqrt(1.4);
  double m_left_star = std::pow(m_pressure, 1.0 / 1.4);
  double m_right_star = 0.265573711705;
  double m_star_sound = std::sqrt(1.4 * m_pressure / m_left_star);
};

}  // namespace stars::test
