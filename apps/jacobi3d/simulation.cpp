// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include "common/peers.hpp"

namespace jacobi3d {

namespace {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  run_setup setup{s,
                  decompose(s.grid, s.odf * int(rt.worker_count())),
                  problem(s.problem, s.grid, s.seed),
                  {},
                  std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations)};
  starling::device_set& all = starling::devices(rt);
  if (s.streams == stream_owner::device)
    for (std::size_t d = 0; d < all.count(); ++d)
      setup.streams.push_back(std::make_shared<stream_set>(all.device(d), s));
  return setup;
}

}  // namespace

run_result simulate(const settings& s, starling::runtime& rt) {
  const bool peers = apps::connect_devices(starling::devices(rt));
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  const triple n = setup->cut.blocks;
  const auto blocks =
      starling::create_array<block>(rt, starling::index3{n.x, n.y, n.z}, how, setup);
  run_result r{rt.sync_wait(apps::measure(s, blocks)), setup->cut};
  r.peer_access = peers;
  return r;
}

}  // namespace jacobi3d
