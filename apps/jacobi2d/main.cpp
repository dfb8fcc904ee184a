// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/iterative_program.hpp"
#include "physics/serial.hpp"
#include "settings.hpp"
#include "simulation.hpp"

namespace jacobi2d {
namespace {

apps::iterated_grid worked_on(const run_result& r) {
  const extent grid = r.cut.grid;
  return {double(grid.x) * grid.y, sizeof(float),
          (r.cut.strips - 1.0) * grid.x * 2 * sizeof(float)};
}

/// On the first rank.
starling::task<int> run_and_report(const settings& s, starling::runtime& rt) {
  apps::announce("jacobi2d", fmt::format("{}×{} cells", s.grid.x, s.grid.y), "strip", s, rt);
  const run_result r = co_await simulate(s, rt);
  apps::report out("jacobi2d");
  out.config("grid", fmt::format("{} {}", s.grid.x, s.grid.y));
  out.config("strips", std::int64_t(r.cut.strips));
  apps::fill_config(s, r, rt, out);
  apps::fill_report(s, r, worked_on(r), problem::tolerance(r.iterations), out);
  if (s.verify) apps::verify(serial_solver(problem(s.problem, s.grid, s.seed)), r, out);
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
