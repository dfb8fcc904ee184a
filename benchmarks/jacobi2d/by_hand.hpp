// SPDX-License-Identifier: Apache-2.0
//
// Parts that the programs written by hand share: the problem, checks of answers, the report. See
// README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../common/report.hpp"
#include "cuda_run.hpp"
#include "physics/serial.hpp"

namespace by_hand {

namespace bench = starling::bench;

struct settings {
  bench::options common;
  std::vector<int> grid{8192, 8192};
  int iterations = 1000;
  std::string problem = "mode";
  cuda_run run;

  /// Returns the cells along each axis; the scale multiplies their product.
  [[nodiscard]] extent cells() const {
    const double edge = std::sqrt(common.scale);
    const auto scaled = [edge](int n) {
      return std::max(1, static_cast<int>(std::lround(n * edge)));
    };
    return {scaled(grid[0]), scaled(grid[1])};
  }
  [[nodiscard]] jacobi2d::problem start(extent n) const {
    using jacobi2d::problem_kind;
    return {problem == "mode" ? problem_kind::mode : problem_kind::random, n};
  }
};

/// Check of answers: small runs are compared with the serial solver, runs of `mode` with the
/// analytic solution. @throws std::invalid_argument if neither is possible
class judge {
 public:
  judge(const jacobi2d::problem& start, long steps)
      : m_kind(start.kind()), m_tolerance(start.tolerance(steps)) {
    const double cells = double(start.grid().x) * start.grid().y;
    if (cells * double(steps) > 0x1p29) {
      if (m_kind == jacobi2d::problem_kind::mode && start.shows(steps)) return;
      throw std::invalid_argument(
          "more than 2^29 cells times steps, too many to be compared with the serial solver, and "
          "the analytic solution is that of --problem mode, of which enough is left only after "
          "fewer --iterations; take fewer or a smaller --grid");
    }
    jacobi2d::serial_solver reference(start);
    for (long i = 0; i < steps; ++i) reference.step();
    m_expected = reference.checksum();
  }
  [[nodiscard]] bool knows_every_bit() const { return m_expected.has_value(); }
  [[nodiscard]] bool accepts(const answer& a) const {
    if (m_expected && a.checksum != *m_expected) return false;
    if (m_kind == jacobi2d::problem_kind::random) return true;
    return a.error <= m_tolerance;
  }

 private:
  jacobi2d::problem_kind m_kind;
  double m_tolerance;
  std::optional<std::uint64_t> m_expected;
};

inline void add_options(CLI::App& app, settings& chosen) {
  bench::add_options(app, chosen.common);
  app.add_option("--grid", chosen.grid, "Cells along x and y")
      ->expected(2)
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--problem", chosen.problem, "First state: mode or random")
      ->check(CLI::IsMember({"mode", "random"}))
      ->capture_default_str();
  app.add_option("--iterations", chosen.iterations, "Timed steps of a run")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--warmup", chosen.run.warmup, "Steps of a run before them")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--gpus", chosen.run.gpus, "GPUs")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rounds", chosen.run.shape.rounds, "Parts of a strip for each resident block")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--blocks", chosen.run.shape.blocks,
                 "Resident blocks of a multiprocessor; 0: as many as fit")
      ->check(CLI::Range(0, 32))
      ->capture_default_str();
  app.add_option("--spare-rows", chosen.run.shape.spare_rows,
                 "Rows that a block beside a neighbour has less, as it exchanges meanwhile")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
}

/// Measures `question` on a grid if it is chosen, and reports it; an item is a step.
/// `solve(problem, spoilt)` returns an outcome.
template <class Solve>
void measure(const settings& chosen, const std::string& question, extent grid, bench::report& out,
             Solve&& solve) {
  if (!chosen.common.runs(question)) return;
  const jacobi2d::problem start = chosen.start(grid);
  const judge judging(start, chosen.run.steps());
  answer found;
  bool is_first = true;
  bench::sampling runs(chosen.common, question, std::uint64_t(chosen.iterations));
  while (runs.wants_more()) {
    runs.begin();
    const outcome o = solve(start, chosen.common.breaks(question));
    runs.end(o.seconds, std::uint64_t(chosen.run.steps()));
    const bool same = std::exchange(is_first, false) || o.found.checksum == found.checksum;
    found = o.found;
    runs.judge(same && judging.accepts(found));
  }
  const bench::measurement m = runs.result();
  out.add(m);
  out.config(question + "_knows_every_bit", judging.knows_every_bit());
  // A step reads and writes each cell once.
  const double bytes = 8.0 * double(grid.x) * grid.y;
  out.metric(question + "_gb_per_s", bytes / m.median_ns);
  fmt::print("{:>32.1f} GB/s at best {:.1f}, checksum {:016x}\n", bytes / m.median_ns,
             bytes / m.minimum_ns, found.checksum);
}

/// Measures the whole grid with the exchange, and reports it as `jacobi2d` does.
template <class Solve>
void measure_step(const settings& chosen, bench::report& out, Solve&& solve) {
  std::uint64_t checksum = 0;
  double fastest = std::numeric_limits<double>::infinity();
  measure(chosen, "step", chosen.cells(), out, [&](const jacobi2d::problem& start, bool spoilt) {
    const outcome o = solve(start, spoilt);
    checksum = o.found.checksum;
    fastest = std::min(fastest, o.seconds);
    return o;
  });
  if (!chosen.common.runs("step")) return;
  out.config("checksum", fmt::format("{:016x}", checksum));
  out.metric("iteration_ms", 1e3 * fastest / chosen.iterations);
}

/// Adds the parameters of a run of all GPUs to the report.
inline void describe(const settings& chosen, bench::report& out) {
  const extent n = chosen.cells();
  out.config("grid", std::vector<int>{n.x, n.y});
  out.config("problem", chosen.problem);
  out.config("iterations", chosen.iterations);
  out.config("warmup", chosen.run.warmup);
  out.config("gpus", chosen.run.gpus);
}

/// Implements `main`: parses the command line, runs, and turns errors into exit codes. `run(out)`
/// returns 0, or the exit code if nothing was measured.
template <class Run>
int main_of(int argc, char** argv, const std::string& name, CLI::App& app, settings& chosen,
            const std::vector<std::string>& questions, Run&& run) {
  const auto parse_and_run = [&] {
    app.parse(argc, argv);
    bench::require_known(chosen.common, questions);
    bench::require_writable(chosen.common.json);
    chosen.run.iterations = chosen.iterations;
    bench::report out("jacobi2d: " + name, chosen.common);
    describe(chosen, out);
    if (const int code = run(out); code != 0) return code;
    out.write(chosen.common.json);
    return out.exit_code();
  };
  return bench::exit_code_of(name.c_str(), app,
                             [&] { return bench::or_bad_usage(name.c_str(), parse_and_run); });
}

}  // namespace by_hand
