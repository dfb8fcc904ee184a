// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/iterative_program.hpp"
#include "physics/serial.hpp"
#include "resident_simulation.hpp"
#include "settings.hpp"
#include "simulation.hpp"

namespace jacobi2d {
namespace {

apps::iterated_grid worked_on(const run_result& r) {
  const extent grid = r.cut.grid;
  return {double(grid.x) * grid.y, sizeof(float),
          (r.cut.strips - 1.0) * grid.x * 2 * sizeof(float)};
}

void announce_resident(const settings& s, const starling::resident::options& o,
                       starling::runtime& rt) {
  fmt::print("jacobi2d: {}×{} cells, problem {}, {} resident strips\n", s.grid.x, s.grid.y,
             name_of(s.problem), name_of(s.resident));
  fmt::print("          {} schedulers of {} threads on each device with {} strips each, {}\n",
             o.schedulers, o.threads, s.odf, apps::describe_devices(rt));
  std::fflush(stdout);  // visible even if the run fails
}

starling::task<run_result> announce_and_run(const settings& s, starling::runtime& rt,
                                            apps::report& out) {
  if (s.resident == resident_kind::none) {
    apps::announce("jacobi2d", fmt::format("{}×{} cells", s.grid.x, s.grid.y),
                   s.strips != 0 ? fmt::format("{} strips in all", s.strips)
                                 : fmt::format("{} strips each", s.odf),
                   s, rt);
    co_return co_await simulate(s, rt);
  }
  const auto o = resident_options(s, rt);
  announce_resident(s, o, rt);
  out.config("schedulers", std::int64_t(o.schedulers));
  out.config("scheduler_threads", std::int64_t(o.threads));
  co_return co_await simulate_resident(s, rt);
}

/// Runs the simulation and reports. Called on the first rank.
starling::task<int> run_and_report(const settings& s, starling::runtime& rt) {
  apps::report out("jacobi2d");
  const run_result r = co_await announce_and_run(s, rt, out);
  out.config("grid", fmt::format("{} {}", s.grid.x, s.grid.y));
  if (s.strips == 0) out.config("odf", std::int64_t(s.odf));
  out.config("strips", std::int64_t(r.cut.strips));
  out.config("resident", std::string(name_of(s.resident)));
  apps::fill_config(s, r, rt, out);
  const problem start(s.problem, s.grid, s.seed);
  apps::fill_report(s, r, worked_on(r), start.tolerance(r.iterations), out);
  if (start.kind() == problem_kind::mode && !start.shows(r.iterations) && !s.verify)
    fmt::print(stderr,
               "jacobi2d: after {} iterations nothing is left of `mode`: its error says little. "
               "--verify compares every bit; so do fewer iterations\n",
               r.iterations);
  if (s.verify) apps::verify(serial_solver(start), r, out);
  co_return apps::finish(s, out);
}

int run_with(const settings& s) {
  if (!s.json.empty()) apps::check_writable(s.json);
  starling::runtime rt(s.runtime);
  return starling::run(rt, run_and_report(s, rt));
}

}  // namespace
}  // namespace jacobi2d

int main(int argc, char** argv) {
  return apps::run_program("jacobi2d",
                           [&] { return jacobi2d::run_with(jacobi2d::read_settings(argc, argv)); });
}
