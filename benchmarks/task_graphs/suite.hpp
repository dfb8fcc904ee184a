// SPDX-License-Identifier: Apache-2.0
//
// Runs one competitor over the patterns and finds the minimum effective task granularity (METG). A
// competitor is a class with
//   static constexpr const char* name;
//   explicit Competitor(int workers);            starts its threads; not timed
//   void prepare(const graph& g);                prepares for runs of the graph; not timed
//   void clear(workload& w);                     called before each run; not timed
//   void run(workload& w);                       runs every task of the graph on `workers` threads
//   std::int64_t finished(workload& w);          returns how many tasks have run; not timed
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../common/affinity.hpp"
#include "../common/report.hpp"
#include "workload.hpp"

namespace task_graphs {

namespace bench = starling::bench;

struct settings {
  bench::options common;
  shape grid{.steps = 5000, .width = 0};  // width 0: workers times columns
  int columns_per_worker = 1;
  std::string kernel = "compute";
  double largest_us = 50;       // the first grain
  double run_us = 1000;         // intended time of a run of large grains
  std::int64_t iterations = 0;  // of every task; not 0: one measurement instead of the search
};

/// Result for one number of kernel iterations. `grain_ns`: time of the fastest run, times cores,
/// over tasks. `efficiency`: rate of iterations relative to that of the kernel alone.
struct point_of_curve {
  std::int64_t iterations;
  double grain_ns;
  double efficiency;
};

/// Kernel iterations per ns of as many threads as there are workers, each with one large grain.
class peak_rate {
 public:
  peak_rate(const kernel& k, int workers) : m_kernel(k), m_workers(workers) {
    m_kernel.kind = k.kind == kernel_kind::imbalance ? kernel_kind::compute : k.kind;
    m_kernel.iterations = 1000;
    const double rate = once();
    m_kernel.iterations = std::max<std::int64_t>(1000, std::int64_t(rate / workers * 2e6));
    measure();
  }
  /// Measures again and keeps the best rate, as other programs may disturb a shared machine.
  void measure() {
    for (int i = 0; i < 5; ++i) m_best = std::max(m_best, once());
  }
  [[nodiscard]] double get() const { return m_best; }
  [[nodiscard]] std::int64_t iterations_in(double ns) const {
    return std::max<std::int64_t>(1, std::llround(m_best / m_workers * ns));
  }

 private:
  double once() const {
    std::vector<double> rates(static_cast<std::size_t>(m_workers));
    std::vector<std::thread> threads;
    for (int i = 0; i < m_workers; ++i)
      threads.emplace_back([this, i, &rates] {
        bench::bind_to_core(i, m_workers);
        execute({m_kernel.kind, 1}, 0, i);  // allocates the thread's memory
        const auto begin = std::chrono::steady_clock::now();
        execute(m_kernel, 0, i);
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        rates[std::size_t(i)] = double(m_kernel.iterations) / took.count();
      });
    for (std::thread& t : threads) t.join();
    return *std::min_element(rates.begin(), rates.end()) * m_workers;
  }

  kernel m_kernel;
  int m_workers;
  double m_best = 0;
};

/// Returns the smallest grain with an efficiency of one half. The curve runs from large grains to
/// small grains: interpolates between its last point with that efficiency and the next point;
/// returns that last point if no point follows.
[[nodiscard]] inline std::optional<double> metg(const std::vector<point_of_curve>& curve) {
  const auto has_half = [](const point_of_curve& c) { return c.efficiency >= 0.5; };
  const auto last = std::find_if(curve.rbegin(), curve.rend(), has_half);
  if (last == curve.rend()) return std::nullopt;
  const point_of_curve& above = *last;
  if (last == curve.rbegin()) return above.grain_ns;
  const point_of_curve& below = *std::prev(last);
  const double share = (above.efficiency - 0.5) / (above.efficiency - below.efficiency);
  return std::exp(std::lerp(std::log(above.grain_ns), std::log(below.grain_ns), share));
}

template <class Competitor>
class suite {
 public:
  suite(const settings& chosen, bench::report& out)
      : m_chosen(chosen), m_out(out), m_kernel{kernel_named(chosen.kernel), 0},
        m_peak(m_kernel, chosen.common.workers), m_competitor(chosen.common.workers) {}

  void ask(const std::string& pattern) {
    m_pattern = pattern;
    m_right = true;
    m_peak.measure();
    const std::vector<point_of_curve> curve = sweep();
    m_out.check(pattern, m_right);
    auto points = nlohmann::ordered_json::array();
    for (const point_of_curve& c : curve)
      points.push_back({c.iterations, c.grain_ns, c.efficiency});
    m_out.config("curve_" + pattern, points);
    print(curve);
  }

 private:
  /// Measures from large grains to small grains, each half of the previous, until the efficiency is
  /// below a quarter twice in a row. Adds larger grains if the first has less than one half.
  std::vector<point_of_curve> sweep() {
    if (m_chosen.iterations > 0) return {measure(m_chosen.iterations)};
    std::int64_t n = m_peak.iterations_in(m_chosen.largest_us * 1000);
    std::vector<point_of_curve> curve{measure(n)};
    for (int i = 0; i < 2 && curve.front().efficiency < 0.5 && m_right; ++i)
      curve.insert(curve.begin(), measure(curve.front().iterations * 4));
    for (int lost = 0; n > 1 && lost < 2 && m_right;) {
      curve.push_back(measure(n /= 2));
      lost = curve.back().efficiency < 0.25 ? lost + 1 : 0;
    }
    return curve;
  }

  /// Returns a graph with fewer steps for large grains, so that all runs are short: on a shared
  /// machine the fastest of several short runs was not disturbed by other programs.
  [[nodiscard]] graph graph_for(std::int64_t iterations) const {
    shape s = m_chosen.grid;
    const double run_us = 1000 * double(iterations) / double(m_peak.iterations_in(1e6));
    s.steps = std::min(s.steps, std::max(50, int(m_chosen.run_us / run_us)));
    return graph(m_pattern, s);
  }

  point_of_curve measure(std::int64_t iterations) {
    using clock = std::chrono::steady_clock;
    const graph g = graph_for(iterations);
    m_competitor.prepare(g);
    m_kernel.iterations = iterations;
    double best_ns = 0;
    std::int64_t work = 0;
    for (int i = -m_chosen.common.warmups; i < m_chosen.common.repetitions; ++i) {
      workload w(g, m_kernel, m_chosen.common.breaks(m_pattern));
      m_competitor.clear(w);
      const auto begin = clock::now();
      m_competitor.run(w);
      const std::chrono::duration<double, std::nano> took = clock::now() - begin;
      if (w.is_wrong() || m_competitor.finished(w) != g.tasks()) m_right = false;
      if (i < 0) continue;
      work = w.iterations();
      best_ns = best_ns == 0 ? took.count() : std::min(best_ns, took.count());
    }
    return {iterations, best_ns * m_chosen.common.workers / double(g.tasks()),
            double(work) / best_ns / m_peak.get()};
  }

  void print(const std::vector<point_of_curve>& curve) {
    const auto smallest = metg(curve);
    if (smallest && m_chosen.iterations == 0) m_out.metric(m_pattern + "_metg_ns", *smallest);
    fmt::print("{:<22}{:>10}  ", m_pattern,
               smallest ? fmt::format("{:.3f}", *smallest / 1000) : "-");
    for (const point_of_curve& c : curve)
      if (c.efficiency < 0.9 || m_chosen.iterations > 0)
        fmt::print(" {:.0f} % at {:.3g}", 100 * c.efficiency, c.grain_ns / 1000);
    fmt::print("{}\n", m_right ? "" : "  WRONG ANSWER");
    std::fflush(stdout);
  }

  const settings& m_chosen;
  bench::report& m_out;
  kernel m_kernel;
  peak_rate m_peak;
  Competitor m_competitor;
  std::string m_pattern;
  bool m_right = true;
};

inline void add_flags(CLI::App& app, settings& chosen) {
  chosen.common.workers = 2;
  chosen.common.repetitions = 25;
  bench::add_options(app, chosen.common);
  app.add_option("--pattern", chosen.common.only, "The same as --only: patterns to run, else all")
      ->delimiter(',');
  app.add_option("--kernel", chosen.kernel, "What a task does")
      ->check(CLI::IsMember({"compute", "memory", "imbalance"}))
      ->capture_default_str();
  const auto count = [&app](const char* flag, int& value, int least, const char* help) {
    app.add_option(flag, value, help)->check(CLI::Range(least, 1 << 24))->capture_default_str();
  };
  count("--steps", chosen.grid.steps, 4, "Steps of a graph");
  count("--columns-per-worker", chosen.columns_per_worker, 1,
        "Tasks of a step for each worker; a graph then has as many times fewer steps");
  count("--width", chosen.grid.width, 0, "Tasks of a step; 0: workers times columns per worker");
  count("--radix", chosen.grid.radix, 1, "Inputs of nearest, spread and random_nearest");
  count("--period", chosen.grid.period, 1, "Steps until spread and random_nearest repeat");
  app.add_option("--largest", chosen.largest_us, "Grain from which the search starts, us")
      ->check(CLI::Range(0.1, 1e5))
      ->capture_default_str();
  app.add_option("--iterations", chosen.iterations,
                 "Iterations of each task's kernel: one measurement instead of the search")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 40));
}

/// Sets width and steps of the graphs. Graphs with more columns have fewer steps, so that the
/// number of tasks stays the same.
inline void choose_shape(settings& chosen) {
  shape& grid = chosen.grid;
  if (grid.width == 0) grid.width = chosen.common.workers * chosen.columns_per_worker;
  grid.steps =
      std::max(4, int(std::lround(grid.steps * chosen.common.scale / chosen.columns_per_worker)));
}

/// Records which patterns coincide at this width, and warns if such a pattern is to run.
inline void tell_coinciding(const settings& chosen, bench::report& results) {
  const auto sets = coinciding_patterns(chosen.grid);
  results.config("coinciding", sets);
  for (const std::vector<std::string>& names : sets) {
    const auto runs = [&](const std::string& name) { return chosen.common.runs(name); };
    if (std::none_of(names.begin(), names.end(), runs)) continue;
    fmt::print("one graph at width {}: {}; --columns-per-worker 4 tells them apart\n",
               chosen.grid.width, fmt::join(names, ", "));
  }
}

/// Implements `main` of a competitor. Exit codes: 0 right, 1 failed, 2 bad usage, 3 a wrong answer.
template <class Competitor>
int run_suite(int argc, char** argv) try {
  CLI::App app{std::string("The smallest tasks that pay: ") + Competitor::name};
  settings chosen;
  add_flags(app, chosen);
  try {
    app.parse(argc, argv);
    bench::require_known(chosen.common, patterns());
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : bench::exit_bad_usage;
  }
  choose_shape(chosen);
  bench::require_writable(chosen.common.json);
  bench::report results(Competitor::name, chosen.common);
  results.config("kernel", chosen.kernel);
  results.config("steps", chosen.grid.steps);
  results.config("width", chosen.grid.width);
  results.config("columns_per_worker", chosen.columns_per_worker);
  results.config("radix", chosen.grid.radix);
  tell_coinciding(chosen, results);
  fmt::print("{}, {} kernel\n{:<22}{:>10}   efficiency at a grain of so many us\n",
             Competitor::name, chosen.kernel, "pattern", "METG us");
  suite<Competitor> all(chosen, results);
  for (const std::string& pattern : patterns())
    if (chosen.common.runs(pattern)) all.ask(pattern);
  results.write(chosen.common.json);
  return results.exit_code();
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", Competitor::name, error.what());
  return bench::exit_failed;
}

}  // namespace task_graphs
