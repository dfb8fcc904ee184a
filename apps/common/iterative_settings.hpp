// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/error.hpp>
#include <starling/core/options.hpp>

#include "common/physics/problem.hpp"

/// What programs can be told whose chares repeat one step many times.
namespace apps {

/// How halos get from one chare to another.
enum class exchange_kind {
  staged,  ///< device, pinned host memory, device, on streams of their own (thesis, 5.2.3)
  direct   ///< read in place where the device reaches it, else copied
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
  int run_ahead = 8;         ///< iterations that the host may be ahead of the device, at least 2
  bool verify = false;       ///< compare with the serial solver, bit by bit
  bool spoilt = false;       ///< one cell is made wrong, for tests of the checks
  bool progress = true;
  std::string json;
  starling::runtime_options runtime;

  /// What other ranks have to know of a run.
  template <class Archive>
  void serialize(Archive& ar) {
    ar(problem, seed, iterations, warmup, odf, exchange, graphs, round_robin, tolerance);
    ar(check_every, run_ahead, spoilt);
  }
};

/// @throws starling::option_error if the exchange excludes --graphs
inline void require_fitting_exchange(const iterative_settings& s) {
  if (s.exchange == exchange_kind::staged && s.graphs)
    throw starling::option_error(
        "--exchange staged with --graphs: an iteration's transfers lie between its kernels; choose "
        "--exchange direct");
}

}  // namespace apps
