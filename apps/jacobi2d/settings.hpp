// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/iterative_settings.hpp"
#include "physics/problems.hpp"

namespace jacobi2d {

using apps::exchange_kind;

/// Everything a run can be told. Its chares are strips.
struct settings : apps::iterative_settings {
  settings() { iterations = 1000; }
  extent grid{8192, 8192};

  template <class Archive>
  void serialize(Archive& ar) {
    iterative_settings::serialize(ar);
    ar(grid);
  }
};

/// Reads the command line; prints help and exits on --help.
/// @throws starling::option_error naming option, value and what is accepted
[[nodiscard]] settings read_settings(int argc, char** argv);

}  // namespace jacobi2d
