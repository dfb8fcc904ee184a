// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <fmt/format.h>

#include "common/by_options.hpp"
#include "common/peers.hpp"

namespace jacobi3d {

namespace {

decomposition decomposition_for(const settings& s, int workers) {
  return apps::by_options([&] {
    return s.has_blocks() ? decompose_into(s.grid, s.blocks, workers)
                          : decompose(s.grid, workers, s.odf);
  });
}

}  // namespace

run_setup make_setup(const settings& s, starling::runtime& rt) {
  const int workers = int(starling::total_worker_count(rt));
  run_setup setup{s,
                  decomposition_for(s, workers),
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
    if (round_robin) return number % workers;
    const triple at{place.x, place.y, place.z};
    if (std::uint64_t(cut.part_count()) == workers) return std::uint64_t(cut.part(at));
    // The blocks cannot be divided evenly: layer by layer, at most one block more for some workers.
    return std::uint64_t(cut.number(at)) * workers / std::uint64_t(cut.count());
  }
};

/// Describes all settings that a restart must not change.
std::string problem_of(const settings& s, const decomposition& cut) {
  const triple g = cut.grid, b = cut.blocks;
  return fmt::format("jacobi3d --grid {} {} {} --blocks {} {} {}{}", g.x, g.y, g.z, b.x, b.y, b.z,
                     apps::describe_start(s));
}

}  // namespace

starling::task<run_result> simulate(const settings& s, starling::runtime& rt) {
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const decomposition& cut = setup->cut;
  const worker_of_block worker_of{cut, starling::total_worker_count(rt), s.round_robin};
  const triple n = cut.blocks;
  apps::run_checkpoints saved(s, rt, problem_of(s, cut));
  co_await saved.open();
  const auto blocks =
      saved.create_array<block>("blocks", starling::index3{n.x, n.y, n.z}, worker_of);
  co_await saved.load();
  run_result r{co_await apps::measure(s, blocks, saved, setup), cut};
  r.peer_access = setup->peer_access;
  co_return r;
}

}  // namespace jacobi3d
