// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "common/command_line.hpp"
#include "common/iterative_settings.hpp"

namespace apps {

/// The options of `iterative_settings`, in the groups that --help shows.
class iterative_command_line : public command_line {
 public:
  iterative_command_line(const std::string& about, iterative_settings& s)
      : command_line(about), m_settings(s) {}

 protected:
  /// Adds the options of the problem; called after the grid is added.
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

  /// Adds the options of chares and their exchange. `chare` is the program's word for a chare.
  void add_chares(const std::string& chare) {
    iterative_settings& s = m_settings;
    add("--odf", s.odf, fmt::format("overdecomposition: {}s for each worker", chare))
        ->check(CLI::Range(1, 4096));
    add_choice("--exchange", s.exchange, by_name({exchange_kind::staged, exchange_kind::direct}),
               "halos: staged through pinned host memory, or direct");
    add_flag("--graphs", s.graphs, "direct: launch an iteration's kernels as a graph");
    add_flag("--round-robin", s.round_robin,
             fmt::format("{} n on worker n modulo workers, not neighbours together", chare));
    add("--run-ahead", s.run_ahead, "direct: iterations that the host may be ahead of a device")
        ->check(CLI::Range(2, most_pieces));
  }

  /// Adds the options of checkpoints; the settings have the default folder.
  void add_checkpoints() {
    iterative_settings& s = m_settings;
    begin_group("Checkpoints (--starling-restart none, latest or a number: restart from one)");
    add("--checkpoint-every", s.checkpoint_every, "iterations between checkpoints; 0: none")
        ->check(CLI::Range(0, 1'000'000'000));
    add("--checkpoint-folder", s.checkpoint_folder,
        "folder of each rank; {rank} and {host} are replaced");
    add("--checkpoints-kept", s.checkpoints_kept, "newest checkpoints that remain on disk")
        ->check(CLI::Range(1, most_pieces));
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

}  // namespace apps
