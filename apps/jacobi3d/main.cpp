// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/iterative_program.hpp"
#include "physics/serial.hpp"
#include "settings.hpp"
#include "simulation.hpp"

namespace jacobi3d {
namespace {

std::string text_of(triple n) { return fmt::format("{} {} {}", n.x, n.y, n.z); }

/// Returns the bytes sent for a surface: both sides of a cut send their cells.
double halo_bytes(offset surface) { return double(surface) * 2 * sizeof(double); }

apps::iterated_grid worked_on(const run_result& r) {
  return {double(volume(r.cut.grid)), sizeof(double), halo_bytes(r.cut.surface())};
}

/// Returns whether the blocks of each worker are a part.
bool has_parts(const settings& s, const run_result& r, starling::runtime& rt) {
  return !s.round_robin && std::size_t(r.cut.part_count()) == starling::total_worker_count(rt);
}

std::string describe_blocks(const settings& s) {
  const triple n = s.blocks;
  return s.has_blocks() ? fmt::format("{}×{}×{} blocks in all", n.x, n.y, n.z)
                        : fmt::format("{} blocks each", s.odf);
}

void fill_config(const settings& s, const run_result& r, starling::runtime& rt, apps::report& out) {
  out.config("grid", text_of(s.grid));
  out.config("blocks", text_of(r.cut.blocks));
  if (!s.has_blocks()) out.config("odf", std::int64_t(s.odf));
  if (has_parts(s, r, rt)) out.config("parts", text_of(r.cut.parts));
  out.config("fusion", std::string(name_of(s.fusion)));
  out.config("wait", std::string(name_of(s.wait)));
  out.config("overlap", std::string(s.overlap ? "on" : "off"));
  out.config("streams_of", std::string(name_of(s.streams)));
  out.config("peer_access", std::string(r.peer_access ? "on" : "off"));
  apps::fill_config(s, r, rt, out);
}

/// Runs the simulation and reports. Called on the first rank.
starling::task<int> run_and_report(const settings& s, starling::runtime& rt) {
  apps::announce(
      "jacobi3d",
      fmt::format("{}×{}×{} cells, fusion {}", s.grid.x, s.grid.y, s.grid.z, name_of(s.fusion)),
      describe_blocks(s), s, rt);
  const run_result r = co_await simulate(s, rt);
  apps::report out("jacobi3d");
  fill_config(s, r, rt, out);
  apps::fill_report(s, r, worked_on(r), problem::tolerance(r.iterations), out);
  if (has_parts(s, r, rt))
    out.metric("halo_between_workers_mb", halo_bytes(r.cut.surface_of_parts()) * 1e-6);
  if (s.verify) apps::verify(serial_solver(problem(s.problem, s.grid, s.seed)), r, out);
  co_return apps::finish(s, out);
}

int run_with(const settings& s) {
  if (!s.json.empty()) apps::check_writable(s.json);
  starling::runtime rt(s.runtime);
  return starling::run(rt, run_and_report(s, rt));
}

}  // namespace
}  // namespace jacobi3d

int main(int argc, char** argv) {
  return apps::run_program("jacobi3d",
                           [&] { return jacobi3d::run_with(jacobi3d::read_settings(argc, argv)); });
}
