// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <fmt/format.h>

#include "common/by_options.hpp"
#include "common/peers.hpp"
#include "strip.hpp"

namespace jacobi2d {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  static_cast<void>(apps::connect_devices(starling::devices(rt)));
  const int workers = int(starling::total_worker_count(rt));
  const int strips = s.strips != 0 ? s.strips : s.odf * workers;
  const auto cut = apps::by_options([&] { return decompose(s.grid, strips); });
  return {s, cut, problem(s.problem, s.grid, s.seed),
          std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations)};
}

namespace {

/// Describes all settings that a restart must not change.
std::string problem_of(const settings& s, const decomposition& cut) {
  return fmt::format("jacobi2d --grid {} {} --strips {}{}", cut.grid.x, cut.grid.y, cut.strips,
                     apps::describe_start(s));
}

}  // namespace

starling::task<run_result> simulate(const settings& s, starling::runtime& rt) {
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  apps::run_checkpoints saved(s, rt, problem_of(s, setup->cut));
  co_await saved.open();
  const auto strips = saved.create_array<strip>("strips", setup->cut.strips, how);
  co_await saved.load();
  co_return run_result{co_await apps::measure(s, strips, saved, setup), setup->cut};
}

}  // namespace jacobi2d
