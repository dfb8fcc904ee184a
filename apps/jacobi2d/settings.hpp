// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/options.hpp>

#include "physics/problems.hpp"

namespace jacobi2d {

/// How rows get from one strip to another.
enum class exchange_kind {
  staged,  ///< device, pinned host memory, device, on streams of their own
  direct   ///< read in place on the same device, copied between devices
};
constexpr const char* name_of(exchange_kind k) {
  return k == exchange_kind::staged ? "staged" : "direct";
}

/// Everything a run can be told.
struct settings {
  extent grid{8192, 8192};
  problem_kind problem = problem_kind::mode;
  std::uint64_t seed = 1;
  int iterations = 1000;
  int warmup = 10;
  int odf = 1;  ///< strips for each worker
  exchange_kind exchange = exchange_kind::direct;
  bool graphs = false;
  bool round_robin = false;  ///< strips to workers; else neighbours together
  double tolerance = 0.0;    ///< end when no cell changes by more; 0: never
  int check_every = 10;      ///< iterations between such checks
  int run_ahead = 8;         ///< iterations that the host may be ahead of the device
  bool verify = false;       ///< compare with the serial solver, bit by bit
  bool spoilt = false;       ///< one cell is made wrong, for tests of the checks
  bool progress = true;
  std::string json;
  starling::runtime_options runtime;
};

/// Reads the command line; prints help and exits on --help.
/// @throws starling::option_error naming option, value and what is accepted
[[nodiscard]] settings read_settings(int argc, char** argv);

/// @throws starling::option_error on options that exclude each other
void check_settings(const settings& s);

}  // namespace jacobi2d
