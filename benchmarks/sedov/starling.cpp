// SPDX-License-Identifier: Apache-2.0
//
// Compares a step of the blast wave on the host with the time of its operations. See README.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "../common/report.hpp"
#include "hydro/operation_count.hpp"
#include "placement/simulation.hpp"
#include "problems/problems.hpp"
#include "rates.hpp"

namespace {

namespace bench = starling::bench;

struct settings {
  bench::options common;
  int steps = 15;
};

const std::vector<std::string>& placements() {
  static const std::vector<std::string> all{"staged", "resident"};
  return all;
}

/// Returns the grid's level of refinement: 64³ cells at scale 1.
int level_of(double scale) { return std::clamp(3 + int(std::lround(std::log2(scale) / 3)), 1, 5); }

struct run_of_steps {
  double step_ms = 0.0;  // mean without the first step, which also allocates memory
  stars::snapshot last;
};

starling::task<run_of_steps> advance(stars::part_simulation& s, int steps) {
  using clock = std::chrono::steady_clock;
  clock::time_point second_step = clock::now();
  for (int i = 0; i < steps; ++i) {
    static_cast<void>(co_await s.step(std::numeric_limits<double>::infinity()));
    if (i != 0) continue;
    co_await s.finish();
    second_step = clock::now();
  }
  co_await s.finish();
  const std::chrono::duration<double, std::milli> took = clock::now() - second_step;
  stars::snapshot last = co_await s.gather();
  co_return run_of_steps{took.count() / (steps - 1), std::move(last)};
}

run_of_steps run_placement(const settings& chosen, const std::string& placement,
                           const stars::snapshot& start) {
  starling::runtime_options o = starling::runtime_options::from_environment();
  o.workers = static_cast<unsigned>(chosen.common.workers);
  o.extra["backend"] = "host";
  starling::runtime rt(o);
  stars::scheme numerics;
  numerics.gamma = start.gamma;
  const auto simulation = placement == "staged" ? stars::make_staged(rt, start, numerics)
                                                : stars::make_resident(rt, start, numerics);
  return rt.sync_wait(advance(*simulation, chosen.steps));
}

/// Returns the integral of a field over the domain, plus its outflow.
long double total(const stars::snapshot& s, std::size_t field) {
  long double sum = 0.0L;
  for (std::size_t k = 0; k < s.data.size(); ++k)
    if (k / stars::cells_per_subgrid % stars::field_count == field) sum += s.data[k];
  return sum * s.grid.cell_volume() + s.outflow[field];
}

/// Checks that mass and energy are conserved, that the density is equal at opposite points, and
/// that the field has changed.
bool plausible(const stars::snapshot& before, const stars::snapshot& after) {
  for (const int f : {int{stars::field::rho}, int{stars::field::egas}}) {
    const long double a = total(before, std::size_t(f)), b = total(after, std::size_t(f));
    if (!(std::fabs(b - a) <= 5e-15L * std::fabs(a))) return false;
  }
  const int n = before.grid.cells_per_edge();
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const double here = after.at(stars::field::rho, {x, y, z});
        const double there = after.at(stars::field::rho, {n - 1 - x, n - 1 - y, n - 1 - z});
        if (!(std::fabs(here - there) <= 1e-13 * here)) return false;
      }
  return before.data != after.data;
}

/// Returns the mean of the rates before and after a run, as a machine's speed changes.
stars::core_rates mean(const stars::core_rates& a, const stars::core_rates& b) {
  return {(a.add + b.add) / 2, (a.multiply + b.multiply) / 2, (a.divide + b.divide) / 2,
          (a.root + b.root) / 2};
}

struct placement_times {
  std::vector<double> step_ms, floor_ms, ratio;
  bool correct = true;
};

int run(const settings& chosen) {
  const bench::options& common = chosen.common;
  bench::report report("sedov_starling", common);
  report.config("steps", chosen.steps);
  const stars::snapshot start = stars::make_blast(level_of(common.scale));
  report.config("cells_per_edge", start.grid.cells_per_edge());
  const auto cells = static_cast<double>(start.grid.cell_count());
  fmt::print("blast wave on {}³ cells, {} worker(s), host, ms per step\n{:<12}{:>10}{:>10}{:>10}\n",
             start.grid.cells_per_edge(), common.workers, "placement", "step", "floor", "ratio");

  stars::core_rates rates = stars::bench::measure_rates(common.workers);
  const auto measure_once = [&](const std::string& placement, placement_times& to, bool counts) {
    run_of_steps r = run_placement(chosen, placement, start);
    const stars::core_rates after = stars::bench::measure_rates(common.workers);
    if (common.breaks(placement)) r.last.data[r.last.data.size() / 2] *= 1.0 + 1e-9;
    to.correct = to.correct && plausible(start, r.last);
    const double floor = 1e3 * stars::step_floor(cells, mean(rates, after));
    rates = after;
    if (!counts) return;
    to.step_ms.push_back(r.step_ms);
    to.floor_ms.push_back(floor);
    to.ratio.push_back(r.step_ms / floor);
  };
  for (const std::string& placement : placements()) {
    if (!common.runs(placement)) continue;
    placement_times t;
    for (int i = -common.warmups; i < common.repetitions; ++i) measure_once(placement, t, i >= 0);
    report.metric(placement + "_step_ms", bench::median(t.step_ms));
    report.metric(placement + "_floor_ms", bench::median(t.floor_ms));
    report.metric(placement + "_floors", bench::median(t.ratio));
    report.check(placement, t.correct);
    fmt::print("{:<12}{:>10.1f}{:>10.1f}{:>10.2f}  {}\n", placement, bench::median(t.step_ms),
               bench::median(t.floor_ms), bench::median(t.ratio),
               t.correct ? "ok" : "WRONG ANSWER");
  }
  constexpr double giga = 1e-9;
  report.metric("add_rate_gflops", giga * rates.add);
  report.metric("multiply_rate_gflops", giga * rates.multiply);
  report.metric("divide_rate_gflops", giga * rates.divide);
  report.metric("root_rate_gflops", giga * rates.root);
  fmt::print(
      "operations per cell and stage: {:.0f} additions and comparisons, {:.0f} "
      "multiplications, {:.0f} divisions, {:.0f} roots\n"
      "measured, in 10⁹ a second: {:.1f}, {:.1f}, {:.2f}, {:.2f}\n",
      stars::operations::per_cell_and_stage.add + stars::operations::per_cell_and_stage.compare,
      stars::operations::per_cell_and_stage.multiply, stars::operations::per_cell_and_stage.divide,
      stars::operations::per_cell_and_stage.root, giga * rates.add, giga * rates.multiply,
      giga * rates.divide, giga * rates.root);
  report.write(common.json);
  return report.exit_code();
}

settings parse(CLI::App& app, int argc, char** argv) {
  settings chosen;
  chosen.common.workers = 2;
  chosen.common.repetitions = 5;
  bench::add_options(app, chosen.common);
  app.add_option("--steps", chosen.steps, "Steps of a run; the first is not timed")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  app.parse(argc, argv);
  bench::require_known(chosen.common, placements());
  bench::require_writable(chosen.common.json);
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A step of the blast wave on the host, beside the time that its operations need");
  return bench::exit_code_of("bench_sedov", app, [&] { return run(parse(app, argc, argv)); });
}
