// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include <starling/core.hpp>

#include "common/files.hpp"
#include "common/iterations.hpp"
#include "common/iterative_settings.hpp"
#include "common/program.hpp"
#include "common/report.hpp"

/// Output and checks of programs whose chares repeat one step many times.
namespace apps {

/// The size of the grid that a run updated.
struct iterated_grid {
  double cells;
  double cell_bytes;
  double halo_bytes;  ///< sent in each iteration
};

/// Prints a description of the run. `chares`: their number, such as "2 blocks each". Called on a
/// worker.
inline void announce(const char* name, const std::string& run, const std::string& chares,
                     const iterative_settings& s, starling::runtime& rt) {
  fmt::print("{}: {}, problem {}, {} exchange{}\n", name, run, name_of(s.problem),
             name_of(s.exchange), s.graphs ? ", graphs" : "");
  const int ranks = starling::rank_count();
  fmt::print("{:{}}  {} workers{} with {}, {}\n", "", std::string(name).size(),
             starling::total_worker_count(rt), ranks == 1 ? "" : fmt::format(" on {} ranks", ranks),
             chares, describe_devices(rt));
  std::fflush(stdout);  // visible even if the run fails
}

inline void fill_config(const iterative_settings& s, const measured_run& r, starling::runtime& rt,
                        report& out) {
  out.config("problem", std::string(name_of(s.problem)));
  out.config("exchange", std::string(name_of(s.exchange)));
  out.config("graphs", std::string(s.graphs ? "on" : "off"));
  out.config("placement", std::string(s.round_robin ? "round_robin" : "block"));
  out.config("run_ahead", std::int64_t(s.run_ahead));
  out.config("iterations", std::int64_t(r.timed_iterations));
  out.config("warmup", std::int64_t(s.warmup));
  fill_devices(rt, out);
  out.config("ranks", std::int64_t(starling::rank_count()));
  out.config("checksum", fmt::format("{:016x}", r.checksum));
  if (!r.checkpoints.is_used) return;
  out.config("checkpoint_every", std::int64_t(s.checkpoint_every));
  out.config("checkpoint_folder", s.checkpoint_folder);
  if (r.checkpoints.restart) out.config("restart_step", std::int64_t(*r.checkpoints.restart));
}

/// Adds the number of checkpoints and the mean pause of the iterations for each.
inline void fill_checkpoints(const checkpoint_record& r, report& out) {
  const int taken = r.complete + r.failed;
  out.metric("checkpoints", r.complete);
  out.metric("checkpoints_failed", r.failed);
  if (taken == 0) return;
  out.metric("checkpoint_copy_ms", r.copy_seconds / taken * 1e3);
  out.metric("checkpoint_wait_ms", r.wait_seconds / taken * 1e3);
}

/// Adds the metrics and the requested checks to `out`. `error_limit` is the rounding error that a
/// correct result may have.
inline void fill_report(const iterative_settings& s, const measured_run& r, const iterated_grid& g,
                        double error_limit, report& out) {
  const double iteration = r.seconds / double(r.timed_iterations);
  out.metric("iterations", double(r.timed_iterations));
  out.metric("iteration_ms", iteration * 1e3);
  out.metric("cell_updates_per_s", g.cells / iteration);
  // Each value is read and written at least once.
  out.metric("least_bandwidth_gb_per_s", g.cells * 2 * g.cell_bytes / iteration * 1e-9);
  out.metric("halo_mb", g.halo_bytes * 1e-6);
  if (s.graphs) out.metric("captures", double(r.captures));
  if (s.checkpoint_every > 0) fill_checkpoints(r.checkpoints, out);
  if (s.tolerance > 0.0) {
    out.metric("last_change", r.last_change);
    out.check("converged", r.last_change <= s.tolerance, r.last_change, s.tolerance);
  }
  if (s.problem == problem_kind::mode)
    out.check("analytic solution", r.error <= error_limit, r.error, error_limit);
}

/// Adds the check that the grid equals the serial solver's grid, bit by bit.
template <class Serial>
void verify(Serial serial, const measured_run& r, report& out) {
  for (long i = 0; i < r.iterations; ++i) serial.step();
  const bool same = serial.checksum() == r.checksum;
  out.check("bits of the serial solver", same, same ? 0.0 : 1.0, 0.0);
}

/// Prints the report, writes the requested file and returns the program's exit code.
inline int finish(const iterative_settings& s, const report& out) {
  fmt::print("\n{}", out.table());
  if (!s.json.empty()) out.write_json(s.json);
  return out.all_hold() ? 0 : exit_check_failed;
}

}  // namespace apps
