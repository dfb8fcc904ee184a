// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include "common/by_options.hpp"
#include "common/peers.hpp"

namespace jacobi3d {

namespace {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  run_setup setup{
      s,
      apps::by_options([&] { return decompose(s.grid, int(rt.worker_count()), s.odf); }),
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
  const decomposition& cut = setup->cut;
  const auto worker_of = [&](starling::index3 place, std::uint64_t number) {
    return s.round_robin ? number % rt.worker_count()
                         : std::uint64_t(cut.part({place.x, place.y, place.z}));
  };
  const triple n = cut.blocks;
  const auto blocks =
      starling::create_array<block>(rt, starling::index3{n.x, n.y, n.z}, worker_of, setup);
  run_result r{rt.sync_wait(apps::measure(s, blocks)), cut};
  r.peer_access = peers;
  return r;
}

}  // namespace jacobi3d
