// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/options.hpp>

#include "common/command_line.hpp"
#include "common/physics/problem.hpp"

/// What programs can be told whose chares repeat one step many times.
namespace apps {

/// How halos get from one chare to another.
enum class exchange_kind {
  staged,  ///< device, pinned host memory, device, on streams of their own (thesis, 5.2.3)
  direct   ///< read in place on the same device, copied between devices
};
constexpr const char* name_of(exchange_kind k) {
  return k == exchange_kind::staged ? "staged" : "direct";
}

struct iterative_settings {
  problem_kind problem = problem_kind::mode;
  std::uint64_t seed = 1;
  int iterations = 100;
  int warmup = 10;
  int odf = 1;  ///< chares for each worker
  exchange_kind exchange = exchange_kind::direct;
  bool graphs = false;
  bool round_robin = false;  ///< chares to workers; else neighbours together
  double tolerance = 0.0;    ///< end when no cell changes by more; 0: never
  int check_every = 10;      ///< iterations between such checks
  int run_ahead = 8;         ///< iterations that the host may be ahead of the device
  bool verify = false;       ///< compare with the serial solver, bit by bit
  bool spoilt = false;       ///< one cell is made wrong, for tests of the checks
  bool progress = true;
  std::string json;
  starling::runtime_options runtime;
};

/// Options of these settings, in the groups in which --help shows them.
class iterative_command_line : public command_line {
 public:
  iterative_command_line(const std::string& about, iterative_settings& s)
      : command_line(about), m_settings(s) {}

 protected:
  /// After the grid.
  void add_problem() {
    iterative_settings& s = m_settings;
    add_choice("--problem", s.problem, by_name({problem_kind::mode, problem_kind::random}),
               "first state: mode (with an analytic solution) or random");
    add("--seed", s.seed, "of the random problem");
    add("--iterations", s.iterations, "timed iterations; with --tolerance the most")
        ->check(CLI::Range(1, 1'000'000'000));
    add("--warmup", s.warmup, "iterations before them")->check(CLI::Range(0, 1'000'000'000));
    add("--tolerance", s.tolerance, "end when no cell changes by more in an iteration; 0: never")
        ->check(CLI::Range(0.0, 1.0));
    add("--check-every", s.check_every, "iterations between such checks")
        ->check(CLI::Range(1, most_pieces));
  }

  /// `chare`: what the program calls one. `least_ahead`: iterations it needs to be ahead.
  void add_chares(const std::string& chare, int least_ahead) {
    iterative_settings& s = m_settings;
    add("--odf", s.odf, fmt::format("overdecomposition: {}s for each worker", chare))
        ->check(CLI::Range(1, 4096));
    add_choice("--exchange", s.exchange, by_name({exchange_kind::staged, exchange_kind::direct}),
               "halos: staged through pinned host memory, or direct");
    add_flag("--graphs", s.graphs, "direct: launch an iteration's kernels as a graph");
    add_flag("--round-robin", s.round_robin,
             fmt::format("{} n on worker n modulo workers, not neighbours together", chare));
    add("--run-ahead", s.run_ahead, "direct: iterations that the host may be ahead of a device")
        ->check(CLI::Range(least_ahead, most_pieces));
  }

  void add_run() {
    iterative_settings& s = m_settings;
    begin_group("Run");
    add_flag("--verify", s.verify, "compare every bit with a serial solver (slow on large grids)");
    add_flag("!--no-progress", s.progress, "no progress line");
    add("--json", s.json, "write metrics and checks to this file");
    add_flag("--spoil", s.spoilt, "")->group("");  // for the tests of the checks
    add_runtime(s.runtime);
  }

 private:
  iterative_settings& m_settings;
};

/// @throws starling::option_error if the exchange excludes --graphs
inline void require_fitting_exchange(const iterative_settings& s) {
  if (s.exchange == exchange_kind::staged && s.graphs)
    throw starling::option_error(
        "--exchange staged with --graphs: an iteration's transfers lie between its kernels; choose "
        "--exchange direct");
}

}  // namespace apps
