// SPDX-License-Identifier: Apache-2.0
//
// Trees that nobody knows before they are searched, as in Olivier et al., "UTS: an unbalanced tree
// search benchmark" (2006): a node is a number that says how many children it has and which.
#pragma once

#include <cstdint>
#include <vector>

namespace tree_search {

using node = std::uint64_t;

/// Children of the root, and of each other node that has any; how many of 2^32 have. On average a
/// node has a little less than one, so that the tree ends, but not soon.
struct tree {
  std::uint32_t roots = 0;
  std::uint32_t children = 1;
  std::uint64_t fertile = 0;

  /// Child `which` of a node; that of the root where `parent` is 0.
  [[nodiscard]] static constexpr node child(node parent, std::uint32_t which) noexcept {
    node n = parent + 0x9e3779b97f4a7c15u * (which + 1);
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
  }
  [[nodiscard]] constexpr std::uint32_t children_of(node n) const noexcept {
    return n >> 32 < fertile ? children : 0;
  }
};

/// A tree whose nodes have `mean` children on average, all of them or none.
[[nodiscard]] constexpr tree make_tree(std::uint32_t roots, std::uint32_t children, double mean) {
  return {roots, children, static_cast<std::uint64_t>(mean / children * 4294967296.0)};
}

/// What a search finds: how many nodes, and their sum modulo 2^64.
struct findings {
  std::uint64_t nodes = 0;
  std::uint64_t sum = 0;
  friend bool operator==(const findings&, const findings&) = default;
};

/// One node after the other, as an independent answer; `levels` if wanted: those below the root.
[[nodiscard]] inline findings search_by_one(const tree& t, std::uint64_t* levels = nullptr) {
  findings found;
  std::vector<node> level, next;
  for (std::uint32_t c = 0; c < t.roots; ++c) level.push_back(tree::child(0, c));
  for (; !level.empty(); level.swap(next), next.clear()) {
    if (levels != nullptr) ++*levels;
    for (const node n : level) {
      ++found.nodes;
      found.sum += n;
      for (std::uint32_t c = 0; c < t.children_of(n); ++c) next.push_back(tree::child(n, c));
    }
  }
  return found;
}

}  // namespace tree_search
