// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <chrono>

#include "common/peers.hpp"
#include "strip.hpp"

namespace jacobi2d {

using starling::chare_array;
using starling::make_reply;
using starling::task;

namespace {

run_setup make_setup(const settings& s, starling::runtime& rt) {
  return {s, decompose(s.grid, s.odf * int(rt.worker_count())), problem(s.problem, s.grid, s.seed),
          std::make_shared<apps::progress_line>(s.progress, s.warmup + s.iterations)};
}

task<run_end> run_all(chare_array<strip> strips, int iterations, bool converges) {
  auto [to, end] = make_reply<run_end>();
  strips.invoke<&strip::run>(iterations, converges, to);
  co_return co_await std::move(end);
}

task<run_result> drive(const settings& s, chare_array<strip> strips) {
  auto [ready, prepared] = make_reply<int>();
  strips.invoke<&strip::prepare>(ready);
  co_await std::move(prepared);
  run_result r;
  if (s.warmup > 0) r.iterations = (co_await run_all(strips, s.warmup, false)).iterations;
  const auto begin = std::chrono::steady_clock::now();
  const run_end end = co_await run_all(strips, s.iterations, s.tolerance > 0.0);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.timed_iterations = end.iterations - r.iterations;
  r.iterations = end.iterations;
  r.last_change = apps::norm_of(end.last_change);
  r.captures = end.captures;
  auto [to, found] = make_reply<findings>();
  strips.invoke<&strip::examine>(to);
  const findings f = co_await std::move(found);
  r.checksum = f.checksum;
  r.error = apps::norm_of(f.error);
  co_return r;
}

}  // namespace

run_result simulate(const settings& s, starling::runtime& rt) {
  static_cast<void>(apps::connect_devices(starling::devices(rt)));
  const auto setup = starling::make_read_only(rt, make_setup(s, rt));
  const auto how = s.round_robin ? starling::placement::round_robin : starling::placement::block;
  const auto strips = starling::create_array<strip>(rt, setup->cut.strips, how, setup);
  run_result r = rt.sync_wait(drive(s, strips));
  r.cut = setup->cut;
  return r;
}

}  // namespace jacobi2d
