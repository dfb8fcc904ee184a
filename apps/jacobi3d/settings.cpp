// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include <starling/core/error.hpp>

#include "common/command_line.hpp"

namespace jacobi3d {
namespace {

using apps::by_name;
constexpr int most = apps::most_pieces;

class command_line : public apps::command_line {
 public:
  explicit command_line(settings& s)
      : apps::command_line(
            "Jacobi's method in three dimensions: blocks are chares, their halos are exchanged "
            "on the device."),
        m_settings(s) {
    add_problem();
    add_blocks();
    add_run();
    add_runtime(s.runtime);
  }

 private:
  void add_problem() {
    settings& s = m_settings;
    begin_group("Problem");
    add("--grid", m_grid, "cells along x, y and z")
        ->default_str("128 128 128")
        ->expected(3)
        ->check(CLI::Range(1, most))
        ->each([this, n = 0](const std::string& word) mutable {
          (n == 0   ? m_settings.grid.x
           : n == 1 ? m_settings.grid.y
                    : m_settings.grid.z) = std::atoi(word.c_str());
          ++n;
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

  void add_blocks() {
    settings& s = m_settings;
    begin_group("Blocks");
    add("--odf", s.odf, "overdecomposition: blocks for each worker")->check(CLI::Range(1, 4096));
    add_choice("--exchange", s.exchange, by_name({exchange_kind::staged, exchange_kind::direct}),
               "faces: staged through pinned host memory, or direct");
    add_choice("--fusion", s.fusion,
               by_name({fusion_kind::none, fusion_kind::a, fusion_kind::b, fusion_kind::c}),
               "kernels in one: none, A packing, B and unpacking, C all");
    add_flag("--graphs", s.graphs, "launch an iteration's kernels as a graph");
    add_choice("--wait", s.wait,
               by_name({wait_kind::synchronous, wait_kind::polling, wait_kind::work_request,
                        wait_kind::asynchronous}),
               "staged: how a block learns that faces have arrived on the host");
    add_choice("--streams-of", s.streams, by_name({stream_owner::block, stream_owner::device}),
               "streams belong to each block or to each device");
    add_flag("--round-robin", s.round_robin,
             "block n on worker n modulo workers, not neighbours together");
    add("--run-ahead", s.run_ahead, "direct: iterations that the host may be ahead of a device")
        ->check(CLI::Range(2, most));
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

void complete_settings(settings& s) {
  if (s.exchange == exchange_kind::staged && (s.graphs || s.fusion != fusion_kind::none))
    throw starling::option_error(
        "--exchange staged with --fusion or --graphs: transfers lie between its kernels; choose "
        "--exchange direct");
  if (s.exchange == exchange_kind::direct && s.wait != wait_kind::asynchronous)
    throw starling::option_error(
        fmt::format("--wait {} with --exchange direct, where no block waits for its faces on the "
                    "host; choose --exchange staged",
                    name_of(s.wait)));
  // A worker waits in place where the completion is to block.
  const bool synchronous = s.wait == wait_kind::synchronous;
  const std::string completion = s.runtime.get("completion", synchronous ? "block" : "");
  if (s.exchange == exchange_kind::staged && synchronous != (completion == "block"))
    throw starling::option_error(fmt::format(
        "--wait {} with --completion {}: synchronous is what block does, and nothing else; leave "
        "one of them out",
        name_of(s.wait), completion));
  if (synchronous) s.runtime.extra["completion"] = completion;
}

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  complete_settings(s);
  return s;
}

}  // namespace jacobi3d
