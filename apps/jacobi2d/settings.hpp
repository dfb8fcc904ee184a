// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/iterative_settings.hpp"
#include "physics/problems.hpp"

namespace jacobi2d {

using apps::exchange_kind;

/// Whether strips are resident on the devices, and with which strips they synchronise in each
/// iteration.
enum class resident_kind {
  none,
  synchronous,  ///< with all strips
  asynchronous  ///< with their neighbours
};
constexpr const char* name_of(resident_kind k) {
  return k == resident_kind::none          ? "none"
         : k == resident_kind::synchronous ? "synchronous"
                                           : "asynchronous";
}

/// All settings of a run. Its chares are strips.
struct settings : apps::iterative_settings {
  settings() {
    iterations = 1000;
    checkpoint_folder = "jacobi2d.checkpoints";
  }
  extent grid{8192, 8192};
  int strips = 0;  ///< 0: `odf` strips for each worker
  resident_kind resident = resident_kind::none;
  int schedulers = 0;  ///< for each device, with resident strips; 0: one for each multiprocessor
  int scheduler_threads = 0;  ///< 0: on a device as many as its registers allow, on the host one

  template <class Archive>
  void serialize(Archive& ar) {
    iterative_settings::serialize(ar);
    ar(grid, strips);
  }
};

/// Reads the command line. Prints the help and exits on --help.
/// @throws starling::option_error that names the option, its value and the accepted values
[[nodiscard]] settings read_settings(int argc, char** argv);

}  // namespace jacobi2d
