// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tree.hpp"

namespace tree_search {

/// Empty where there is no CUDA device.
[[nodiscard]] std::string cuda_device_name();

/// A search of one tree on device 0 that the host drives: a kernel expands a level, and the next
/// one is launched for what it has left.
class level_search {
 public:
  /// What the host knows when it launches a level.
  enum class look {
    each_level,   ///< how many nodes it has
    some_levels,  ///< nothing: levels follow each other in a graph, and it looks behind that
  };
  /// @throws std::runtime_error with CUDA's reason
  level_search(const tree& searched, look when);
  ~level_search();

  /// @throws std::runtime_error with CUDA's reason, or where a level is larger than was foreseen
  [[nodiscard]] findings run();

 private:
  class impl;
  std::unique_ptr<impl> m_impl;
};

}  // namespace tree_search
