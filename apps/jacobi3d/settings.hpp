// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/iterative_settings.hpp"
#include "physics/problems.hpp"

namespace jacobi3d {

using apps::exchange_kind;

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

/// Everything a run can be told. Its chares are blocks.
struct settings : apps::iterative_settings {
  triple grid{128, 128, 128};
  fusion_kind fusion = fusion_kind::none;
  wait_kind wait = wait_kind::asynchronous;
  stream_owner streams = stream_owner::block;
  bool overlap = false;  ///< a block's interior is updated while its faces are on their way

  /// Whether all that follows the exchange of faces is one kernel or one graph.
  [[nodiscard]] bool in_one_stream() const { return graphs || fusion == fusion_kind::c; }

  template <class Archive>
  void serialize(Archive& ar) {
    iterative_settings::serialize(ar);
    ar(grid, fusion, wait, streams, overlap);
  }
};

/// Reads the command line; prints help and exits on --help.
/// @throws starling::option_error naming option, value and what is accepted
[[nodiscard]] settings read_settings(int argc, char** argv);

/// Adds what follows from the choices.
/// @throws starling::option_error on options that exclude each other
void complete_settings(settings& s);

}  // namespace jacobi3d
