// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <starling/objects/balance.hpp>

namespace starling::launch {

/// What one balancer does with recorded loads.
struct replay {
  std::string balancer;
  balance::plan plan;
  double seconds = 0;  ///< time of the balancer
};

/// Runs the balancer. @throws option_error, usage_error
[[nodiscard]] replay replay_loads(const balance::snapshot& loads, const std::string& name,
                                  const balance::balancer_options& options);

void print_heading(const balance::snapshot& loads);
/// Prints one line of the table.
void print_line(const replay& done);
/// Prints up to `most` migrations with their reasons.
void print_migrations(const balance::snapshot& loads, const replay& done, std::size_t most);

/// Writes a report of the form that benchmarks write: `name`, `config`, `metrics`, `checks`,
/// `commit` and `machine`. `source` names the loads. @throws balance_error
void write_report(const balance::snapshot& loads, const std::vector<replay>& done,
                  const std::string& source, const std::string& path);

/// Writes the loads of all workers and devices, in seconds, before and after each balancer, for
/// tools/plot_balance.py. @throws balance_error
void write_plot(const balance::snapshot& loads, const std::vector<replay>& done,
                const std::string& path);

}  // namespace starling::launch
