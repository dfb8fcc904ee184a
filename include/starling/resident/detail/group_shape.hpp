// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/resident/granularity.hpp>

namespace starling::resident::detail {

/// The threads of a scheduler's group, without the threads that serve it.
struct group_shape {
  granularity of = granularity::block;
  int threads = 1;  // of a block
  int blocks = 1;   // 0: one for each multiprocessor that the program may use
};

}  // namespace starling::resident::detail
