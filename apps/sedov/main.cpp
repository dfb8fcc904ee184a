// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "output/plotfile.hpp"
#include "output/restart.hpp"
#include "physics/serial.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "setup.hpp"
#include "simulation.hpp"

namespace sedov {
namespace {

namespace fs = std::filesystem;
using seconds = std::chrono::duration<double>;
using std::chrono::steady_clock;

constexpr int exit_check_failed = 1;
constexpr int exit_bad_usage = 2;
constexpr int exit_failed = 3;
constexpr double drift_limit = 5e-15;

/// Volume integral of a field plus what has left the domain, with Neumaier's compensated sum.
double total(const snapshot& s, int f) {
  double sum = 0.0;
  double lost = 0.0;
  const auto add = [&](double v) {
    const double next = sum + v;
    lost += std::abs(sum) >= std::abs(v) ? (sum - next) + v : (v - next) + sum;
    sum = next;
  };
  const double volume = s.grid.cell_volume();
  for (int n = 0; n < s.grid.subgrid_count(); ++n)
    for (int c = 0; c < cells_per_subgrid; ++c)
      add(s.data[(std::size_t(n) * field_count + std::size_t(f)) * cells_per_subgrid +
                 std::size_t(c)]);
  return (sum + lost) * volume + s.outflow[std::size_t(f)];
}

fs::path plot_path(const settings& s, const snapshot& state) {
  return fs::path(s.output) / fmt::format("plt{:05}", state.step);
}

void write_state(const settings& s, const snapshot& state, double dt) {
  restart content{state, dt, {}};
  content.scheme = restart_parameters(s);
  write_restart(fs::path(s.output) / fmt::format("restart{:05}.h5", state.step), content);
}

struct run_result {
  snapshot first;
  snapshot last;
  double dt = 0.0;
  double first_step_s = 0.0;
  double later_steps_s = 0.0;  // all of them together
};

bool finished(const settings& s, const snapshot& now) {
  return (s.steps > 0 && now.step >= s.steps) || (s.stop_time > 0 && now.time >= s.stop_time);
}

void write_due(const settings& s, const snapshot& state, double dt) {
  const auto due = [&](long every) { return every > 0 && state.step % every == 0; };
  if (s.write_plots && due(s.plot_every)) write_plotfile(plot_path(s, state), state);
  if (s.write_restart && due(s.restart_every)) write_state(s, state, dt);
}

/// The time loop: step, then whatever is due to be written. The first step is timed apart.
starling::task<> advance(const settings& s, simulation& sim, run_result& r) {
  progress_bar bar(s.progress, s.steps, s.stop_time);
  snapshot& now = r.last;  // clock only; the state stays where the simulation keeps it
  now.step = r.first.step;
  now.time = r.first.time;
  auto begin = steady_clock::now();
  while (!finished(s, now)) {
    const double left =
        s.stop_time > 0 ? s.stop_time - now.time : std::numeric_limits<double>::infinity();
    r.dt = co_await sim.step(left);
    // The last step lands on the stop time exactly, whatever the sum rounds to.
    now.time = r.dt == left ? s.stop_time : now.time + r.dt;
    const bool first = ++now.step == r.first.step + 1;
    const bool writes = (s.plot_every > 0 && now.step % s.plot_every == 0) ||
                        (s.restart_every > 0 && now.step % s.restart_every == 0);
    bar.show(now.step, now.time, r.dt);
    if (!first && !writes && !finished(s, now)) continue;
    co_await sim.finish();
    (first ? r.first_step_s : r.later_steps_s) += seconds(steady_clock::now() - begin).count();
    if (writes && !finished(s, now)) write_due(s, co_await sim.gather(), r.dt);
    begin = steady_clock::now();
  }
  r.last = co_await sim.gather();
}

/// Lets no task outlive the simulation that it works on.
starling::task<> run(const settings& s, simulation& sim, run_result& r) {
  std::exception_ptr failure;
  try {
    co_await advance(s, sim, r);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  try {
    co_await sim.finish();
  } catch (...) {  // the first failure is the one to tell
  }
  std::rethrow_exception(failure);
}

void fill_report(const settings& s, starling::runtime& rt, run_result& r, report& out) {
  const double cells = double(r.last.grid.cell_count());
  out.metric("steps", double(r.last.step - r.first.step));
  out.metric("time", r.last.time);
  out.metric("first_step_ms", r.first_step_s * 1e3);
  if (const double later = double(r.last.step - r.first.step - 1); later > 0) {
    const double step = r.later_steps_s / later;
    out.metric("step_ms", step * 1e3);
    out.metric("cell_updates_per_s", cells / step);
  }
  if (rt.tracer().enabled())
    for (const starling::trace_total& t : rt.tracer().totals())
      if (t.kind == starling::span_kind::kernel) out.metric("launches_" + t.name, double(t.count));
  const auto drift = [&](int f) {
    const double before = total(r.first, f);
    return std::abs(total(r.last, f) - before) / std::abs(before);
  };
  const double mass = drift(field::rho);
  const double energy = drift(field::egas);
  const bool floors = s.numerics.floors.enabled;  // floors add mass and energy: nothing to hold
  out.check("mass drift", floors || mass <= drift_limit, mass, drift_limit);
  out.check("energy drift", floors || energy <= drift_limit, energy, drift_limit);
}

std::unique_ptr<simulation> make_simulation(const settings& s, starling::runtime& rt,
                                            const snapshot& first) {
  return s.place == residency::staged ? make_staged(rt, first, s.numerics)
                                      : make_resident(rt, first, s.numerics, s.batch);
}

void announce(const settings& s, starling::runtime& rt, const snapshot& first) {
  const starling::device_set& all = starling::devices(rt);
  fmt::print("sedov: {} on {}³ cells, {} sub-grids, {}, gamma {:.4g}\n", s.problem,
             first.grid.cells_per_edge(), first.grid.subgrid_count(), name_of(first.boundary),
             first.gamma);
  fmt::print("       {} workers, {} × {} ({}), completion by {}, {}\n", rt.worker_count(),
             all.count(), starling::to_string(all.backend()), all.device(0).properties().name,
             starling::to_string(all.completion()),
             s.place == residency::staged ? "staged" : "resident");
  std::fflush(stdout);
}

int run_program(settings& s) {
  starling::runtime rt(s.runtime);
  run_result r;
  r.first = first_state(s);
  s.numerics.gamma = r.first.gamma;
  announce(s, rt, r.first);
  fs::create_directories(s.output);
  if (s.write_plots) write_plotfile(plot_path(s, r.first), r.first);
  const auto sim = make_simulation(s, rt, r.first);
  try {
    rt.sync_wait(run(s, *sim, r));
  } catch (const unphysical_state& e) {
    const fs::path wreck = fs::path(s.output) / "unphysical";
    write_plotfile(wreck, rt.sync_wait(sim->gather()));
    fmt::print(stderr, "sedov: {}\n       the state is in {}\n", e.what(), wreck.string());
    return exit_failed;
  }
  if (s.write_plots) write_plotfile(plot_path(s, r.last), r.last);
  if (s.write_restart && restart_available()) write_state(s, r.last, r.dt);
  report out;
  fill_report(s, rt, r, out);
  fmt::print("\n{}", out.table());
  if (!s.json.empty()) out.write_json(s.json, s);
  return out.all_hold() ? 0 : exit_check_failed;
}

}  // namespace
}  // namespace sedov

int main(int argc, char** argv) {
  try {
    sedov::settings s = sedov::read_settings(argc, argv);
    return sedov::run_program(s);
  } catch (const starling::option_error& e) {
    fmt::print(stderr, "sedov: {}\n", e.what());
    return sedov::exit_bad_usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "sedov: {}\n", e.what());
    return sedov::exit_failed;
  }
}
