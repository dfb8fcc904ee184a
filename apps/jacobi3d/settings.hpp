// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/iterative_settings.hpp"
#include "physics/problems.hpp"

namespace jacobi3d {

using apps::exchange_kind;

/// The kernels that are fused into one (thesis, 5.2.4).
enum class fusion_kind {
  none,
  a,  ///< the pack kernels
  b,  ///< the pack kernels; the unpack kernels
  c   ///< unpacking, the update and packing
};
constexpr const char* name_of(fusion_kind k) {
  constexpr const char* names[] = {"none", "A", "B", "C"};
  return names[static_cast<int>(k)];
}

/// How a block waits until its faces are in host memory (thesis, table 2.1).
enum class wait_kind {
  synchronous,   ///< the worker blocks until the stream is complete
  polling,       ///< the block polls an event and yields between polls
  work_request,  ///< the completion sends the block a message
  asynchronous   ///< the block awaits the stream
};
constexpr const char* name_of(wait_kind k) {
  constexpr const char* names[] = {"synchronous", "polling", "work-request", "asynchronous"};
  return names[static_cast<int>(k)];
}

/// The owner of the streams that blocks use.
enum class stream_owner {
  block,  ///< each block has its own streams: blocks run concurrently on the device
  device  ///< one stream of each kind for all blocks of a device (thesis, 3.3.2)
};
constexpr const char* name_of(stream_owner k) {
  return k == stream_owner::block ? "block" : "device";
}

/// All settings of a run. Its chares are blocks.
struct settings : apps::iterative_settings {
  settings() { checkpoint_folder = "jacobi3d.checkpoints"; }
  triple grid{128, 128, 128};
  triple blocks{0, 0, 0};  ///< along each axis; zeros: `odf` blocks for each worker
  fusion_kind fusion = fusion_kind::none;
  wait_kind wait = wait_kind::asynchronous;
  stream_owner streams = stream_owner::block;
  bool overlap = false;  ///< update a block's interior while its faces are in flight

  [[nodiscard]] bool has_blocks() const { return blocks != triple{}; }
  /// Returns whether all work after the exchange of faces is one kernel or one graph.
  [[nodiscard]] bool in_one_stream() const { return graphs || fusion == fusion_kind::c; }

  template <class Archive>
  void serialize(Archive& ar) {
    iterative_settings::serialize(ar);
    ar(grid, blocks, fusion, wait, streams, overlap);
  }
};

/// Reads the command line. Prints the help and exits on --help.
/// @throws starling::option_error that names the option, its value and the accepted values
[[nodiscard]] settings read_settings(int argc, char** argv);

/// Sets the settings that follow from the chosen ones.
/// @throws starling::option_error on options that exclude each other
void complete_settings(settings& s);

}  // namespace jacobi3d
