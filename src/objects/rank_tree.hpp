// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// A binary tree of ranks with rank 0 at the root, seen from one of the ranks.
struct rank_tree {
  int rank;
  int size;

  /// Returns the parent rank. Not for rank 0.
  [[nodiscard]] int above() const noexcept { return (rank - 1) / 2; }
  /// Calls `act` for each child rank and returns their number.
  template <class Action>
  int for_each_below(Action act) const {
    int count = 0;
    for (const int below : {2 * rank + 1, 2 * rank + 2})
      if (below < size) {
        act(below);
        ++count;
      }
    return count;
  }
};

}  // namespace starling::detail
