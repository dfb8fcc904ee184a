// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/error.hpp>
#include <starling/core/options.hpp>

#include "common/physics/problem.hpp"

/// Settings of programs whose chares repeat one step many times.
namespace apps {

/// How halos are moved between chares.
enum class exchange_kind {
  staged,  ///< device, pinned host memory, device; on separate streams (thesis, 5.2.3)
  direct   ///< read in place where the device can access the memory, otherwise copied
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
  bool round_robin = false;  ///< chare n on worker n modulo workers; otherwise in blocks
  double tolerance = 0.0;    ///< end when no cell changes by more in an iteration; 0: never
  int check_every = 10;      ///< iterations between convergence checks
  int run_ahead = 8;         ///< iterations that the host may be ahead of the device, at least 2
  int checkpoint_every = 0;  ///< iterations between checkpoints; 0: none
  std::string checkpoint_folder;
  int checkpoints_kept = 2;
  bool verify = false;  ///< compare with the serial solver, bit by bit
  bool spoilt = false;  ///< make one cell wrong, to test the checks
  bool progress = true;
  std::string json;
  starling::runtime_options runtime;

  /// Archives the settings that other ranks need.
  template <class Archive>
  void serialize(Archive& ar) {
    ar(problem, seed, iterations, warmup, odf, exchange, graphs, round_robin, tolerance);
    ar(check_every, run_ahead, spoilt);
  }
};

/// Returns the iterations of a whole run, warm-up included.
inline long total_iterations(const iterative_settings& s) { return long(s.warmup) + s.iterations; }

/// @throws starling::option_error if the exchange excludes --graphs
inline void require_fitting_exchange(const iterative_settings& s) {
  if (s.exchange == exchange_kind::staged && s.graphs)
    throw starling::option_error(
        "--exchange staged with --graphs: an iteration's transfers lie between its kernels; choose "
        "--exchange direct");
}

}  // namespace apps
