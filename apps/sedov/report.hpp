// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "output/restart.hpp"

namespace sedov {

/// What a run measured and checked of itself; the verification scripts judge the files it wrote.
class report {
 public:
  void config(const std::string& name, parameter value);  ///< what the run was, for the file only
  void metric(const std::string& name, double value);     ///< unit in the name: step_ms, mass_drift
  void check(const std::string& name, bool holds, double value, double limit);

  [[nodiscard]] bool all_hold() const noexcept;
  /// Metrics and checks as an aligned table.
  [[nodiscard]] std::string table() const;
  /// One flat object: name, config, metrics, checks, commit, machine. @throws output_error
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
  std::map<std::string, parameter> m_config;
  std::vector<row> m_metrics;
  std::vector<checked_row> m_checks;
};

}  // namespace sedov
