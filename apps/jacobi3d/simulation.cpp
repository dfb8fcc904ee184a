// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <chrono>

#include "common/peers.hpp"

namespace jacobi3d {

using starling::chare_array;
using starling::make_reply;
using starling::task;

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

task<run_end> run_all(chare_array<block> blocks, int iterations, bool converges) {
  auto [to, end] = make_reply<run_end>();
  blocks.invoke<&block::run>(iterations, converges, to);
  co_return co_await std::move(end);
}

task<run_result> drive(const settings& s, chare_array<block> blocks) {
  auto [ready, prepared] = make_reply<int>();
  blocks.invoke<&block::prepare>(ready);
  co_await std::move(prepared);
  run_result r;
  if (s.warmup > 0) r.iterations = (co_await run_all(blocks, s.warmup, false)).iterations;
  const auto begin = std::chrono::steady_clock::now();
  const run_end end = co_await run_all(blocks, s.iterations, s.tolerance > 0.0);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.timed_iterations = end.iterations - r.iterations;
  r.iterations = end.iterations;
  r.last_change = norm_of(end.last_change);
  r.captures = end.captures;
  auto [to, found] = make_reply<findings>();
  blocks.invoke<&block::examine>(to);
  const findings f = co_await std::move(found);
  r.checksum = f.checksum;
  r.error = norm_of(f.error);
  co_return r;
}

}  // namespace

run_result simulate(const settings& s, starling::runtime& rt) {
  const bool peers = apps::connect_devices(starling::devices(rt));
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  const triple n = setup->cut.blocks;
  const auto blocks =
      starling::create_array<block>(rt, starling::index3{n.x, n.y, n.z}, how, setup);
  run_result r = rt.sync_wait(drive(s, blocks));
  r.cut = setup->cut;
  r.peer_access = peers;
  return r;
}

}  // namespace jacobi3d
