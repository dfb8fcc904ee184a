// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include "common/by_options.hpp"
#include "common/peers.hpp"
#include "strip.hpp"

namespace jacobi2d {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  static_cast<void>(apps::connect_devices(starling::devices(rt)));
  const int workers = int(starling::total_worker_count(rt));
  const auto cut = apps::by_options([&] { return decompose(s.grid, s.odf * workers); });
  return {s, cut, problem(s.problem, s.grid, s.seed),
          std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations)};
}

starling::task<run_result> simulate(const settings& s, starling::runtime& rt) {
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  const auto strips = starling::create_array<strip>(rt, setup->cut.strips, how, setup);
  co_return run_result{co_await apps::measure(s, strips), setup->cut};
}

}  // namespace jacobi2d
