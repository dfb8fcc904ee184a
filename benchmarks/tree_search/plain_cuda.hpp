// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tree.hpp"

namespace tree_search {

/// Returns the name of device 0; empty if there is no CUDA device.
[[nodiscard]] std::string cuda_device_name();

/// A search of one tree on device 0, driven by the host: a kernel expands a level, then the next
/// kernel expands the nodes that it has found.
class level_search {
 public:
  /// When the host reads the size of a level.
  enum class look {
    each_level,   ///< before it launches each level
    some_levels,  ///< after a graph of several levels
  };
  /// Allocates memory for the search. @throws std::runtime_error with CUDA's reason
  level_search(const tree& searched, look when);
  ~level_search();

  /// Searches the tree. @throws std::runtime_error with CUDA's reason, or if a level is larger than
  /// its buffer
  [[nodiscard]] findings run();

 private:
  class impl;
  std::unique_ptr<impl> m_impl;
};

}  // namespace tree_search
