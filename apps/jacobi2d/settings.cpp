// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <cstdlib>

#include <starling/core/error.hpp>

#include "common/command_line.hpp"

namespace jacobi2d {
namespace {

using apps::by_name;
constexpr int most = apps::most_pieces;

class command_line : public apps::command_line {
 public:
  explicit command_line(settings& s)
      : apps::command_line(
            "Jacobi's method in two dimensions: strips of rows are chares, which read their "
            "neighbours' rows in place."),
        m_settings(s) {
    add_problem();
    add_strips();
    add_run();
    add_runtime(s.runtime);
  }

 private:
  void add_problem() {
    settings& s = m_settings;
    begin_group("Problem");
    add("--grid", m_grid, "cells along x and y")
        ->default_str("8192 8192")
        ->expected(2)
        ->check(CLI::Range(1, most))
        ->each([this, n = 0](const std::string& word) mutable {
          (n++ == 0 ? m_settings.grid.x : m_settings.grid.y) = std::atoi(word.c_str());
        });
    add_choice("--problem", s.problem, by_name({problem_kind::mode, problem_kind::random}),
               "first state: mode (with an analytic solution) or random");
    add("--seed", s.seed, "of the random problem");
    add("--iterations", s.iterations, "timed iterations; with --tolerance the most")
        ->check(CLI::Range(1, 1'000'000'000));
    add("--warmup", s.warmup, "iterations before them")->check(CLI::Range(0, 1'000'000'000));
    add("--tolerance", s.tolerance, "end when no cell changes by more in an iteration; 0: never")
        ->check(CLI::Range(0.0, 1.0));
    add("--check-every", s.check_every, "iterations between such checks")
        ->check(CLI::Range(1, most));
  }

  void add_strips() {
    settings& s = m_settings;
    begin_group("Strips");
    add("--odf", s.odf, "overdecomposition: strips for each worker")->check(CLI::Range(1, 4096));
    add_choice("--exchange", s.exchange, by_name({exchange_kind::staged, exchange_kind::direct}),
               "rows: staged through pinned host memory, or direct");
    add_flag("--graphs", s.graphs, "direct: launch an iteration's kernels as a graph");
    add_flag("--round-robin", s.round_robin,
             "strip n on worker n modulo workers, not neighbours together");
    add("--run-ahead", s.run_ahead, "direct: iterations that the host may be ahead of a device")
        ->check(CLI::Range(1, most));
  }

  void add_run() {
    settings& s = m_settings;
    begin_group("Run");
    add_flag("--verify", s.verify, "compare every bit with a serial solver (slow on large grids)");
    add_flag("!--no-progress", s.progress, "no progress line");
    add("--json", s.json, "write metrics and checks to this file");
    add_flag("--spoil", s.spoilt, "")->group("");  // for the tests of the checks
  }

  settings& m_settings;
  std::vector<int> m_grid;
};

}  // namespace

void check_settings(const settings& s) {
  if (s.exchange == exchange_kind::staged && s.graphs)
    throw starling::option_error(
        "--exchange staged with --graphs: an iteration's transfers lie between its kernels; choose "
        "--exchange direct");
}

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  check_settings(s);
  return s;
}

}  // namespace jacobi2d
