// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/files.hpp"
#include "common/program.hpp"
#include "common/report.hpp"
#include "physics/serial.hpp"
#include "settings.hpp"
#include "simulation.hpp"

namespace jacobi3d {
namespace {

std::string text_of(triple n) { return fmt::format("{} {} {}", n.x, n.y, n.z); }

void announce(const settings& s, starling::runtime& rt) {
  fmt::print("jacobi3d: {}×{}×{} cells, problem {}, {} exchange, fusion {}{}\n", s.grid.x, s.grid.y,
             s.grid.z, name_of(s.problem), name_of(s.exchange), name_of(s.fusion),
             s.graphs ? ", graphs" : "");
  fmt::print("          {} workers with {} blocks each, {}\n", rt.worker_count(), s.odf,
             apps::describe_devices(rt));
  std::fflush(stdout);  // a failure shows at the end
}

void fill_config(const settings& s, starling::runtime& rt, const run_result& r, apps::report& out) {
  out.config("grid", text_of(s.grid));
  out.config("blocks", text_of(r.cut.blocks));
  out.config("problem", std::string(name_of(s.problem)));
  out.config("odf", std::int64_t(s.odf));
  out.config("exchange", std::string(name_of(s.exchange)));
  out.config("fusion", std::string(name_of(s.fusion)));
  out.config("graphs", std::string(s.graphs ? "on" : "off"));
  out.config("wait", std::string(name_of(s.wait)));
  out.config("streams_of", std::string(name_of(s.streams)));
  out.config("placement", std::string(s.round_robin ? "round_robin" : "block"));
  out.config("run_ahead", std::int64_t(s.run_ahead));
  out.config("iterations", std::int64_t(r.timed_iterations));
  out.config("warmup", std::int64_t(s.warmup));
  apps::fill_devices(rt, out);
  out.config("peer_access", std::string(r.peer_access ? "on" : "off"));
  out.config("checksum", fmt::format("{:016x}", r.checksum));
}

/// Whether the grid is the serial solver's, bit by bit.
void verify(const settings& s, const run_result& r, apps::report& out) {
  serial_solver serial(problem(s.problem, s.grid, s.seed));
  for (long i = 0; i < r.iterations; ++i) serial.step();
  const bool same = serial.checksum() == r.checksum;
  out.check("bits of the serial solver", same, same ? 0.0 : 1.0, 0.0);
}

void fill_report(const settings& s, const run_result& r, apps::report& out) {
  const double cells = double(volume(s.grid));
  const double iteration = r.seconds / double(r.timed_iterations);
  out.metric("iterations", double(r.timed_iterations));
  out.metric("iteration_ms", iteration * 1e3);
  out.metric("cell_updates_per_s", cells / iteration);
  // Each value is read and written once at least.
  out.metric("least_bandwidth_gb_per_s", cells * 2 * sizeof(double) / iteration * 1e-9);
  out.metric("faces_of_blocks_mb", double(r.cut.surface()) * 2 * sizeof(double) * 1e-6);
  if (s.graphs) out.metric("captures", double(r.captures));
  if (s.tolerance > 0.0) {
    out.metric("last_change", r.last_change);
    out.check("converged", r.last_change <= s.tolerance, r.last_change, s.tolerance);
  }
  if (s.problem == problem_kind::mode) {
    const double limit = problem::tolerance(r.iterations);
    out.check("analytic solution", r.error <= limit, r.error, limit);
  }
  if (s.verify) verify(s, r, out);
}

int run_with(const settings& s) {
  if (!s.json.empty()) apps::check_writable(s.json);
  starling::runtime rt(s.runtime);
  announce(s, rt);
  const run_result r = simulate(s, rt);
  apps::report out("jacobi3d");
  fill_config(s, rt, r, out);
  fill_report(s, r, out);
  fmt::print("\n{}", out.table());
  if (!s.json.empty()) out.write_json(s.json);
  return out.all_hold() ? 0 : apps::exit_check_failed;
}

}  // namespace
}  // namespace jacobi3d

int main(int argc, char** argv) {
  return apps::run_program("jacobi3d",
                           [&] { return jacobi3d::run_with(jacobi3d::read_settings(argc, argv)); });
}
