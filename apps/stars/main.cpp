// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "common/program.hpp"
#include "common/report.hpp"
#include "driver/adaptive.hpp"
#include "driver/continuation.hpp"
#include "driver/memory.hpp"
#include "driver/part.hpp"
#include "driver/progress.hpp"
#include "driver/regrid.hpp"
#include "driver/settings.hpp"
#include "driver/setup.hpp"
#include "io/files.hpp"
#include "io/restart.hpp"
#include "placement/launch.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"

namespace stars {
namespace {

namespace fs = std::filesystem;
using seconds = std::chrono::duration<double>;
using std::chrono::steady_clock;

/// The largest relative change of a sum over the domain. Changes of the mesh round once more.
double drift_limit(const settings& s) { return is_adaptive(s) ? 1e-14 : 5e-15; }

/// Writes a plot with this name, in the format of the settings. Returns its path.
starling::task<fs::path> write_plot(const settings& s, adaptive_simulation& sim, std::string name) {
  fs::path path = fs::path(s.output) / name;
  if (s.plots == plot_format::vtkhdf) path += ".vtkhdf";
  co_await sim.write_plot(path, s.plots);
  co_return path;
}

starling::task<> write_plot(const settings& s, adaptive_simulation& sim, long step) {
  co_await write_plot(s, sim, fmt::format("plt{:05}", step));
}

starling::task<> write_state(const settings& s, adaptive_simulation& sim, long step) {
  fs::path path = fs::path(s.output) / fmt::format("restart{:05}.h5", step);
  co_await sim.write_restart(std::move(path), restart_parameters(s));
}

struct run_result {
  snapshot first, last;  // without data
  domain_sums before;
  state_record after;
  double first_step_s = 0.0;
  double later_steps_s = 0.0;  // of all later steps together
  double later_updates = 0.0;  // of cells, in these steps
  double regrid_s = 0.0;       // changes of the mesh, with their tests
  long regrids = 0;            // trees after the first one
  long tests = 0;              // of all leaves
  balance_record balanced;
  starling::aggregation_statistics aggregated;
  double bytes_sent = 0.0;  // by all ranks, in all steps
};

bool finished(const settings& s, const snapshot& now) {
  return (s.steps > 0 && now.step >= s.steps) || (s.stop_time > 0 && now.time >= s.stop_time);
}

/// Returns whether something that is done every `every` steps, 0: never, is due after a step.
bool is_due(long every, long step) { return every > 0 && step % every == 0; }

starling::task<> write_due(const settings& s, adaptive_simulation& sim, long step) {
  if (s.write_restart && is_due(s.restart_every, step)) co_await write_state(s, sim, step);
  if (s.write_plots && is_due(s.plot_every, step)) co_await write_plot(s, sim, step);
}

long regrid_interval(const settings& s) {
  return s.regrid_every > 0 ? s.regrid_every : steps_between_regrids(s.numerics.cfl);
}

starling::task<> regrid(const settings& s, adaptive_simulation& sim, run_result& r) {
  const auto begin = steady_clock::now();
  std::vector<refinement_rule> rules = make_problem(s)->rules;
  const bool changed = co_await sim.regrid(std::move(rules), limits_of(s));
  r.regrids += changed;
  r.tests += 1;
  r.regrid_s += seconds(steady_clock::now() - begin).count();
}

bool may_rebalance(const settings& s) {
  return !is_adaptive(s) && starling::rank_count() > 1 && s.balance.kind == balance_kind::time;
}

/// The work between a step and the next one: files, a test of the mesh, a new division among ranks.
struct due_after {
  bool writes, regrids, rebalances;
  [[nodiscard]] bool any() const { return writes || regrids || rebalances; }
};
due_after due(const settings& s, const rebalance_schedule& balance, long step) {
  return {is_due(s.plot_every, step) || is_due(s.restart_every, step),
          is_adaptive(s) && is_due(regrid_interval(s), step),
          may_rebalance(s) && balance.is_due(step)};
}

/// Returns the steps up to the next one after which something is due: on several ranks at most 8,
/// so that progress is shown often; on one rank one, as no call of other ranks is saved.
step_request next_steps(const settings& s, const rebalance_schedule& balance, const snapshot& now,
                        bool first) {
  const long most = starling::rank_count() > 1 ? 8 : 1;
  const double stop = s.stop_time > 0 ? s.stop_time : std::numeric_limits<double>::infinity();
  step_request wanted{1, now.time, stop, false};
  const auto ends_at = [&](long step) {
    return first || (s.steps > 0 && step == s.steps) || due(s, balance, step).any();
  };
  while (wanted.most < most && !ends_at(now.step + wanted.most)) ++wanted.most;
  wanted.is_waited = ends_at(now.step + wanted.most);
  return wanted;
}

/// Runs the time loop: steps, changes of the mesh, and writes the files that are due. The first
/// step is timed separately.
starling::task<> advance(const settings& s, adaptive_simulation& sim, run_result& r) {
  progress_bar bar(s.progress, {s.steps, s.stop_time}, r.first.step, r.first.time);
  rebalance_schedule balance(r.first.step, regrid_interval(s));
  snapshot& now = r.last;
  now.step = r.first.step;
  now.time = r.first.time;
  auto begin = steady_clock::now();
  while (!finished(s, now)) {
    const bool first = now.step == r.first.step;
    const step_request wanted = next_steps(s, balance, now, first);
    const step_progress done = co_await sim.advance(wanted);
    if (done.dt == 0) throw starling::error("the time step is 0: a signal is infinitely fast");
    now.step += done.steps;
    now.time = done.time;
    if (!first) r.later_updates += double(done.steps) * double(sim.grid().cell_count());
    bar.show(now.step, now.time, done.dt);
    const bool ends = finished(s, now);
    if (!wanted.is_waited && !ends) continue;
    if (!wanted.is_waited) co_await sim.finish();
    (first ? r.first_step_s : r.later_steps_s) += seconds(steady_clock::now() - begin).count();
    if (ends) break;
    const due_after now_due = due(s, balance, now.step);
    // Before files are written, so that a run that continues from them has the same trees.
    if (now_due.regrids) co_await regrid(s, sim, r);
    if (now_due.rebalances) balance.done(now.step, co_await sim.rebalance());
    if (now_due.writes) co_await write_due(s, sim, now.step);
    begin = steady_clock::now();
  }
  r.last = co_await sim.header();
}

/// Runs the time loop and waits for all its tasks, also after an error: none outlives the
/// simulation.
starling::task<> run(const settings& s, adaptive_simulation& sim, run_result& r) {
  std::exception_ptr failure;
  try {
    co_await advance(s, sim, r);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  try {
    co_await sim.finish();
  } catch (...) {  // the first failure is the one to report
  }
  std::rethrow_exception(failure);
}

/// Reports the relative changes of mass and energy. They are checked unless the run may change
/// them: by floors, or by gravity where gas may leave or cross from the bottom to the top.
void report_drifts(const settings& s, const run_result& r, apps::report& out) {
  const auto relative = [](double before, double after) {
    return std::abs(after - before) / std::abs(before);
  };
  const auto mass_of = [](const snapshot& header, const domain_sums& sums) {
    return integral(sums.mass, header.grid) + header.outflow[field::rho];
  };
  const auto energy_of = [](const snapshot& header, const domain_sums& sums) {
    return integral(sums.energy, header.grid) + header.outflow[field::egas] + sums.potential;
  };
  const double mass = relative(mass_of(r.first, r.before), mass_of(r.last, r.after.sums));
  const double energy = relative(energy_of(r.first, r.before), energy_of(r.last, r.after.sums));
  const auto report = [&](const char* metric, const char* check, double drift, bool holds) {
    if (holds)
      out.check(check, drift <= drift_limit(s), drift, drift_limit(s));
    else
      out.metric(metric, drift);
  };
  const bool floors = s.numerics.floors.enabled;
  const bool closed = s.numerics.gravity == 0.0 || r.last.boundary == boundary_kind::reflecting;
  report("mass_drift", "mass drift", mass, !floors);
  report("energy_drift", "energy drift", energy, !floors && closed);
}

void fill_report(const settings& s, starling::runtime& rt, run_result& r, apps::report& out) {
  out.config("state_fnv1a", r.after.digest());
  out.metric("steps", double(r.last.step - r.first.step));
  out.metric("time", r.last.time);
  out.metric("first_step_ms", r.first_step_s * 1e3);
  if (const double later = double(r.last.step - r.first.step - 1); later > 0) {
    const double step = r.later_steps_s / later;
    out.metric("step_ms", step * 1e3);
    out.metric("cell_updates_per_s", r.later_updates / r.later_steps_s);
  }
  if (is_adaptive(s)) {
    out.metric("sub_grids", double(r.last.grid.subgrid_count()));
    out.metric("regrids", double(r.regrids));
    if (r.tests > 0) {
      out.metric("regrid_ms", r.regrid_s * 1e3 / double(r.tests));
      out.metric("regrid_share", r.regrid_s / (r.regrid_s + r.first_step_s + r.later_steps_s));
    }
  }
  if (r.bytes_sent > 0.0 && r.last.step > r.first.step)
    out.metric("ghosts_sent_mb_per_step", r.bytes_sent * 1e-6 / double(r.last.step - r.first.step));
  if (const auto& b = r.balanced; b.intervals > 0) {
    out.metric("imbalance_first", b.first);
    out.metric("imbalance_last", b.last);
    out.metric("leaves_moved", double(b.moved));
  }
  if (const auto& shared = r.aggregated; shared.launches > 0) {
    out.metric("aggregated_sub_grids", double(shared.submissions));
    out.metric("mean_batch", shared.mean());
    out.metric("largest_batch", double(shared.largest));
    out.metric("mean_wait_us", double(shared.waiting_ns) * 1e-3 / double(shared.submissions));
  }
  if (rt.tracer().enabled())
    for (const starling::trace_total& t : rt.tracer().totals())
      if (t.kind == starling::span_kind::kernel) out.metric("launches_" + t.name, double(t.count));
  if (const auto error = r.after.error.value()) out.metric("density_l1", *error);
  report_drifts(s, r, out);
}

/// Returns the devices that a rank uses: a resident state is on one device.
std::size_t devices_used(const settings& s, starling::runtime& rt) {
  return s.place == residency::staged ? starling::devices(rt).count() : 1;
}

/// Adds the configuration of the run: the values in use, not the requested ones.
void fill_config(const settings& s, starling::runtime& rt, apps::report& out) {
  const starling::device_set& all = starling::devices(rt);
  for (const auto& [name, value] : restart_parameters(s)) out.config(name, value);
  out.config("problem", s.problem);
  out.config("level", std::int64_t(s.level));
  out.config("xscale", s.xscale);
  out.config("gamma", s.numerics.gamma);
  out.config("boundary", name_of(*s.boundary));
  out.config("steps", std::int64_t(s.steps));
  out.config("stop_time", s.stop_time);
  out.config("residency", name_of(s.place));
  if (starling::rank_count() > 1) out.config("balance", std::string(name_of(s.balance.kind)));
  out.config("aggregate", std::int64_t(s.aggregate));
  out.config("work_memory", std::string(name_of(s.staged.memory)));
  const bool resident = s.place == residency::resident;
  const kernel_cut cut =
      resident ? cut_for(s.resident.cut, s.numerics, all.device(0)) : kernel_cut::plain;
  out.config("kernels", std::string(name_of(cut)));
  out.config("graph", std::string(name_of(s.resident.capture)));
  out.config("barriers", rt.options().get("barriers", "off"));
  out.config("backend", std::string(starling::to_string(all.backend())));
  out.config("completion", std::string(starling::to_string(all.completion())));
  out.config("devices", std::int64_t(devices_used(s, rt)));
  out.config("streams", std::int64_t(s.place == residency::staged ? s.staged.streams
                                                                  : all.device(0).pool().size()));
  out.config("workers", std::int64_t(rt.worker_count()));
  out.config("ranks", std::int64_t(starling::rank_count()));
}

starling::task<std::unique_ptr<adaptive_simulation>> make_simulation(const settings& s,
                                                                     starling::runtime& rt,
                                                                     const beginning& first) {
  if (starling::rank_count() > 1) co_return co_await make_across_ranks(rt, first, s);
  co_return make_on_one_rank(rt, first.header, s);
}

void announce(const settings& s, starling::runtime& rt, const snapshot& first) {
  const starling::device_set& all = starling::devices(rt);
  fmt::print("stars: {} on {}³ cells, {}{} sub-grids, {}, gamma {:.4g}\n", s.problem,
             edge << s.level, is_adaptive(s) ? "where they are needed, at first " : "",
             first.grid.subgrid_count(), name_of(first.boundary), first.gamma);
  const int ranks = starling::rank_count();
  fmt::print("       {}{} workers, {} × {} ({}), completion by {}, {}\n",
             ranks == 1 ? "" : fmt::format("{} ranks, this one with ", ranks), rt.worker_count(),
             devices_used(s, rt), starling::to_string(all.backend()),
             all.device(0).properties().name, starling::to_string(all.completion()),
             name_of(s.place));
  std::fflush(stdout);  // visible even if the run fails
}

/// Throws for settings that can be refused before anything is computed.
void check_settings(const settings& s, starling::runtime& rt) {
  if (s.restart_every > 0 && s.write_restart && !restart_available())
    throw starling::option_error(
        "--restart-every: restart files need HDF5, which this build lacks; leave the option out or "
        "install libhdf5-dev, configure and build again");
  if (s.plots == plot_format::vtkhdf && s.write_plots && !restart_available())
    throw starling::option_error(
        "--plot-format vtkhdf: these files need HDF5, which this build lacks; give --plot-format "
        "amrex or install libhdf5-dev, configure and build again");
  if (s.place == residency::resident && s.resident.cut == kernel_cut::grouped &&
      !on_processor(starling::devices(rt).device(0)))
    throw starling::option_error(
        "--kernels grouped: made for a processor's vectors and caches; a GPU takes fused, plain or "
        "auto");
  const int ranks = starling::rank_count();
  if (s.place == residency::resident && s.resident.capture == capture_kind::step && ranks > 1)
    throw starling::option_error(fmt::format(
        "--graph step on {} ranks: they exchange ghost cells and choose the time step together "
        "within a step; give --graph stage",
        ranks));
  const auto asked = s.runtime.extra.find("devices");
  if (ranks > 1 || s.place == residency::staged || asked == s.runtime.extra.end() ||
      asked->second == "all" || asked->second.find('/') != std::string::npos ||
      starling::devices(rt).count() <= 1)
    return;
  throw starling::option_error(
      fmt::format("--devices {} with --residency resident: the state lies on one device; give "
                  "--devices 1, or --residency staged, which uses them all",
                  asked->second));
}

[[noreturn]] void refuse_output(const settings& s, const std::error_code& cause) {
  throw starling::error(
      fmt::format("--output {}: cannot write into this folder: {}; choose one that can be made and "
                  "written to, or remove the file in its place",
                  s.output, cause.message()));
}

/// Checks before the run that the output can be written.
void prepare_output(const settings& s) {
  std::error_code error;
  fs::create_directories(s.output, error);
  if (error) refuse_output(s, error);
  try {
    check_writable(fs::path(s.output) / "plt");
  } catch (const output_error& e) {
    refuse_output(s, {e.code(), std::generic_category()});
  }
  if (s.json.empty()) return;
  try {
    check_writable(s.json);
  } catch (const output_error& e) {
    throw starling::error(fmt::format("--json {}: {}", s.json, e.what()));
  }
}

beginning prepare(settings& s, starling::runtime& rt) {
  check_settings(s, rt);
  choose_restart(s, job_of_environment());
  suit_devices(s, rt);
  const auto check_memory = [&] {
    const bool on_host = on_processor(starling::devices(rt).device(0));
    require_memory(s.level, memory_needed(s.level, s.place, on_host, starling::rank_count()),
                   memory_available());
  };
  if (s.restart_from.empty() && !is_adaptive(s)) check_memory();
  beginning first = begin_run(s, starling::rank_count());
  if (!s.restart_from.empty() && !is_adaptive(s)) check_memory();  // for the level of the file
  if (first.rounds == 0) require_sub_grids(first.header.grid, starling::rank_count());
  for (const std::string& line : without_effect(s, starling::rank_count()))
    fmt::print(stderr, "stars: warning: {}\n", line);
  prepare_output(s);
  return first;
}

/// Prints the fault before it writes the state, because the write may fail.
starling::task<> tell_fault(const settings& s, adaptive_simulation& sim,
                            const unphysical_state& fault) {
  fmt::print(stderr, "stars: {}\n", fault.what());
  try {
    const fs::path path = co_await write_plot(s, sim, "unphysical");
    fmt::print(stderr, "       the state is in {}\n", path.string());
  } catch (const std::exception& e) {
    fmt::print(stderr, "       the state could not be written: {}\n", e.what());
  }
}

/// Prints the table before it writes files, and writes the restart file before the plotfile, which
/// can be made from it.
starling::task<int> conclude(const settings& s, starling::runtime& rt, adaptive_simulation& sim,
                             run_result& r) {
  r.after = co_await sim.record();
  r.aggregated = sim.aggregated();
  r.bytes_sent = sim.bytes_sent();
  r.balanced = sim.balanced();
  apps::report out("stars");
  fill_config(s, rt, out);
  fill_report(s, rt, r, out);
  fmt::print("\n{}", out.table());
  const bool told = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  const int why = errno;
  if (s.write_restart && restart_available()) co_await write_state(s, sim, r.last.step);
  if (s.write_plots) co_await write_plot(s, sim, r.last.step);
  if (!s.json.empty()) out.write_json(s.json);
  if (!told) throw_system_error("standard output", "write", why);
  co_return out.all_hold() ? 0 : apps::exit_check_failed;
}

starling::task<int> run_in(settings& s, starling::runtime& rt) {
  const beginning first = prepare(s, rt);
  const auto sim = co_await make_simulation(s, rt, first);
  run_result r;
  r.first = co_await sim->header();
  r.before = co_await sim->sums();
  announce(s, rt, r.first);
  if (s.write_plots) co_await write_plot(s, *sim, r.first.step);
  std::optional<unphysical_state> fault;
  try {
    co_await run(s, *sim, r);
  } catch (const unphysical_state& e) {
    fault = e;
  }
  if (fault) {
    co_await tell_fault(s, *sim, *fault);
    co_return apps::exit_failed;
  }
  co_return co_await conclude(s, rt, *sim, r);
}

/// Runs the simulation on the first rank and prints its errors there: all ranks exit with the
/// returned code.
starling::task<int> lead(settings& s, starling::runtime& rt) {
  try {
    co_return co_await run_in(s, rt);
  } catch (const starling::broken_promise&) {  // the run has been ended: `run` reports why
    throw;
  } catch (const std::bad_alloc&) {
    co_return apps::tell(
        "stars",
        starling::out_of_memory(
            is_adaptive(s)
                ? fmt::format("--level {} --min-level {}: the sub-grids that the flow needs do not "
                              "fit into the memory; choose a lower level, or a machine with more",
                              s.level, limits_of(s).min)
                : memory_text(s.level,
                              memory_needed(s.level, s.place, true, starling::rank_count())) +
                      " and more, which were not to be had; choose a lower level or a machine with "
                      "more memory"));
  } catch (const std::exception& e) {
    co_return apps::tell("stars", e);
  }
}

int run_with(settings& s) {
  starling::runtime rt(s.runtime);
  return starling::run(rt, lead(s, rt));
}

}  // namespace
}  // namespace stars

int main(int argc, char** argv) {
  return apps::run_program("stars", [&] {
    stars::settings s = stars::read_settings(argc, argv);
    return stars::run_with(s);
  });
}
