// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include "common/by_options.hpp"
#include "common/peers.hpp"
#include "strip.hpp"

namespace jacobi2d {

namespace {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  const auto cut =
      apps::by_options([&] { return decompose(s.grid, s.odf * int(rt.worker_count())); });
  return {s, cut, problem(s.problem, s.grid, s.seed),
          std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations)};
}

}  // namespace

run_result simulate(const settings& s, starling::runtime& rt) {
  static_cast<void>(apps::connect_devices(starling::devices(rt)));
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  const auto strips = starling::create_array<strip>(rt, setup->cut.strips, how, setup);
  run_result r{rt.sync_wait(apps::measure(s, strips)), setup->cut};
  return r;
}

}  // namespace jacobi2d
