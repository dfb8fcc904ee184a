// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/options.hpp>

#include "physics/problems.hpp"

namespace jacobi3d {

/// How faces get from one block to another.
enum class exchange_kind {
  staged,  ///< device, pinned host memory, device, on streams of their own (thesis, 5.2.3)
  direct   ///< read in place on the same device, copied between devices
};
constexpr const char* name_of(exchange_kind k) {
  return k == exchange_kind::staged ? "staged" : "direct";
}

/// Which kernels are one (thesis, 5.2.4).
enum class fusion_kind {
  none,
  a,  ///< those that pack
  b,  ///< those that pack; those that unpack
  c   ///< unpacking, the update and packing
};
constexpr const char* name_of(fusion_kind k) {
  constexpr const char* names[] = {"none", "A", "B", "C"};
  return names[static_cast<int>(k)];
}

/// How a block learns that its faces are in host memory (thesis, table 2.1).
enum class wait_kind {
  synchronous,   ///< the worker waits for the stream
  polling,       ///< the block asks, and lets others run in between
  work_request,  ///< the end sends the block a message
  asynchronous   ///< the block awaits the stream
};
constexpr const char* name_of(wait_kind k) {
  constexpr const char* names[] = {"synchronous", "polling", "work-request", "asynchronous"};
  return names[static_cast<int>(k)];
}

/// Whose streams the blocks use.
enum class stream_owner {
  block,  ///< each block its own: blocks run side by side on the device
  device  ///< one of each kind for all blocks of a device (thesis, 3.3.2)
};
constexpr const char* name_of(stream_owner k) {
  return k == stream_owner::block ? "block" : "device";
}

/// Everything a run can be told.
struct settings {
  triple grid{128, 128, 128};
  problem_kind problem = problem_kind::mode;
  std::uint64_t seed = 1;
  int iterations = 100;
  int warmup = 10;
  int odf = 1;  ///< blocks for each worker
  exchange_kind exchange = exchange_kind::direct;
  fusion_kind fusion = fusion_kind::none;
  bool graphs = false;
  wait_kind wait = wait_kind::asynchronous;
  stream_owner streams = stream_owner::block;
  bool round_robin = false;  ///< blocks to workers; else neighbours together
  double tolerance = 0.0;    ///< end when no cell changes by more; 0: never
  int check_every = 10;      ///< iterations between such checks
  int run_ahead = 8;         ///< iterations that the host may be ahead of the device, at least 2
  bool verify = false;       ///< compare with the serial solver, bit by bit
  bool spoilt = false;       ///< one cell is made wrong, for tests of the checks
  bool progress = true;
  std::string json;
  starling::runtime_options runtime;

  /// Whether all that follows the exchange of faces is one kernel or one graph.
  [[nodiscard]] bool in_one_stream() const { return graphs || fusion == fusion_kind::c; }
};

/// Reads the command line; prints help and exits on --help.
/// @throws starling::option_error naming option, value and what is accepted
[[nodiscard]] settings read_settings(int argc, char** argv);

/// Adds what follows from the choices.
/// @throws starling::option_error on options that exclude each other
void complete_settings(settings& s);

}  // namespace jacobi3d
