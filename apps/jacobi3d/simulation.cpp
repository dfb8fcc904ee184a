// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include "common/by_options.hpp"
#include "common/peers.hpp"

namespace jacobi3d {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  const int workers = int(starling::total_worker_count(rt));
  run_setup setup{s,
                  apps::by_options([&] { return decompose(s.grid, workers, s.odf); }),
                  problem(s.problem, s.grid, s.seed),
                  {},
                  std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations),
                  apps::connect_devices(starling::devices(rt))};
  starling::device_set& all = starling::devices(rt);
  if (s.streams == stream_owner::device)
    for (std::size_t d = 0; d < all.count(); ++d)
      setup.streams.push_back(std::make_shared<stream_set>(all.device(d), s));
  return setup;
}

namespace {

struct worker_of_block {
  decomposition cut;
  std::uint64_t workers;
  bool round_robin;
  std::uint64_t operator()(starling::index3 place, std::uint64_t number) const {
    return round_robin ? number % workers : std::uint64_t(cut.part({place.x, place.y, place.z}));
  }
};

}  // namespace

starling::task<run_result> simulate(const settings& s, starling::runtime& rt) {
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const decomposition& cut = setup->cut;
  const worker_of_block worker_of{cut, starling::total_worker_count(rt), s.round_robin};
  const triple n = cut.blocks;
  const auto blocks =
      starling::create_array<block>(rt, starling::index3{n.x, n.y, n.z}, worker_of, setup);
  run_result r{co_await apps::measure(s, blocks), cut};
  r.peer_access = setup->peer_access;
  co_return r;
}

}  // namespace jacobi3d
