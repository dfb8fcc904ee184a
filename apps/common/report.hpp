// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace apps {

/// Measurements and checks of a run.
class report {
 public:
  using setting = std::variant<std::int64_t, double, std::string>;

  explicit report(std::string name) : m_name(std::move(name)) {}

  void config(const std::string& name, setting v);  ///< description of the run, for the file only
  void metric(const std::string& name, double value);  ///< unit in the name: step_ms, mass_drift
  /// Adds a check: `value` is correct up to `limit`.
  void check(const std::string& name, bool holds, double value, double limit);

  [[nodiscard]] bool all_hold() const noexcept;
  /// Returns the metrics and checks as an aligned table.
  [[nodiscard]] std::string table() const;
  /// Writes one flat object: name, config, metrics, checks, commit, machine.
  /// @throws output_error
  void write_json(const std::string& file) const;

 private:
  struct row {
    std::string name;
    double value;
  };
  struct checked_row {
    std::string name;
    bool holds;
    double value;
    double limit;
  };
  std::string m_name;
  std::map<std::string, setting> m_config;
  std::vector<row> m_metrics;
  std::vector<checked_row> m_checks;
};

}  // namespace apps
