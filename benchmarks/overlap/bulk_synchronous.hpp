// SPDX-License-Identifier: Apache-2.0
//
// Parts that the competitors share: sizes, the problem, checks of answers, the report. See
// README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "../common/report.hpp"
#include "answer.hpp"
#include "physics/decomposition.hpp"
#include "physics/problems.hpp"
#include "physics/serial.hpp"

namespace overlap {

namespace bench = starling::bench;

struct settings {
  bench::options common;
  std::vector<int> grid{256, 256, 256};
  int iterations = 100;
  int warmup = 10;  ///< untimed steps before the timed steps

  /// Returns the cells along each axis; the scale multiplies their product.
  [[nodiscard]] triple extent() const {
    const double edge = std::cbrt(common.scale);
    const auto scaled = [edge](int n) {
      return std::max(1, static_cast<int>(std::lround(n * edge)));
    };
    return {scaled(grid[0]), scaled(grid[1]), scaled(grid[2])};
  }
  [[nodiscard]] long steps() const { return long{warmup} + iterations; }
};

/// Returns the answer of a block in host memory.
inline answer answer_of(const block_layout& s, triple origin, const double* block,
                        const jacobi3d::problem& start, long steps) {
  const jacobi3d::initial_values first = start.values();
  const double amplitude = start.amplitude(steps);
  answer found;
  for (int z = 0; z < s.n.z; ++z)
    for (int y = 0; y < s.n.y; ++y)
      for (int x = 0; x < s.n.x; ++x) {
        const triple c{origin.x + x, origin.y + y, origin.z + z};
        const double value = block[s.at(x, y, z)];
        found.checksum +=
            jacobi3d::checksum_of(value, jacobi3d::cell_number(start.grid(), c.x, c.y, c.z));
        found.add_error(std::fabs(value - amplitude * first(c.x, c.y, c.z)));
      }
  return found;
}

/// Checks answers: small runs against the serial solver, all runs against the analytic solution.
class judge {
 public:
  judge(const jacobi3d::problem& start, long steps) : m_steps(steps) {
    const double work = static_cast<double>(jacobi3d::volume(start.grid())) * double(steps);
    if (work > 0x1p27) return;
    jacobi3d::serial_solver reference(start);
    for (long i = 0; i < steps; ++i) reference.step();
    m_expected = reference.checksum();
  }
  [[nodiscard]] bool accepts(const answer& a) const {
    return a.error <= jacobi3d::problem::tolerance(m_steps) &&
           (!m_expected || a.checksum == *m_expected);
  }

 private:
  long m_steps;
  std::optional<std::uint64_t> m_expected;
};

inline void add_options(CLI::App& app, settings& chosen) {
  bench::add_options(app, chosen.common);
  app.add_option("--grid", chosen.grid, "Cells along x, y and z")
      ->expected(3)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--iterations", chosen.iterations, "Timed steps of a run")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--warmup", chosen.warmup, "Steps of a run before them")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
}

/// Measures `question` if it is chosen, and reports it; an item is a step. `solve(problem)` returns
/// an outcome.
template <class Solve>
void measure(const settings& chosen, const std::string& question, bench::report& out,
             Solve&& solve) {
  if (!chosen.common.runs(question)) return;
  const jacobi3d::problem start(jacobi3d::problem_kind::mode, chosen.extent());
  const judge judging(start, chosen.steps());
  bench::sampling runs(chosen.common, question, std::uint64_t(chosen.iterations));
  while (runs.wants_more()) {
    runs.begin();
    outcome o = solve(start);
    runs.end(o.seconds, std::uint64_t(chosen.steps()));
    if (chosen.common.breaks(question)) ++o.found.checksum;
    runs.judge(judging.accepts(o.found));
  }
  const bench::measurement m = runs.result();
  out.add(m);
  // A step reads and writes each cell once.
  const double bytes = 16.0 * static_cast<double>(jacobi3d::volume(chosen.extent()));
  out.metric(question + "_gb_per_s", bytes / m.median_ns);
  fmt::print("{:>32.1f} GB/s at best {:.1f}\n", bytes / m.median_ns, bytes / m.minimum_ns);
}

inline bench::report report_of(const std::string& name, const settings& chosen) {
  bench::report out("overlap: " + name, chosen.common);
  const triple n = chosen.extent();
  out.config("grid", std::vector<int>{n.x, n.y, n.z});
  out.config("iterations", chosen.iterations);
  out.config("warmup", chosen.warmup);
  return out;
}

/// Implements `main`: parses the command line, runs, and turns errors into exit codes.
template <class Run>
int main_of(int argc, char** argv, const std::string& name, CLI::App& app, settings& chosen,
            const std::vector<std::string>& questions, Run&& run) {
  const auto parse_and_run = [&] {
    app.parse(argc, argv);
    bench::require_known(chosen.common, questions);
    bench::require_writable(chosen.common.json);
    bench::report out = report_of(name, chosen);
    out.print_heading();
    run(out);
    out.write(chosen.common.json);
    return out.exit_code();
  };
  return bench::exit_code_of(name.c_str(), app,
                             [&] { return bench::or_bad_usage(name.c_str(), parse_and_run); });
}

}  // namespace overlap
