// SPDX-License-Identifier: Apache-2.0
//
// Trees that are unknown before they are searched, as in Olivier et al., "UTS: an unbalanced tree
// search benchmark" (2006): a node is a number that determines how many children it has, and which.
#pragma once

#include <cstdint>
#include <vector>

namespace tree_search {

using node = std::uint64_t;

/// Parameters of a tree: the children of the root, the children of a node that has any, and how
/// many of 2^32 nodes have some. On average a node has a little less than one child, so that the
/// tree is finite but large.
struct tree {
  std::uint32_t roots = 0;
  std::uint32_t children = 1;
  std::uint64_t fertile = 0;

  /// Returns child `which` of a node; `parent` 0 is the root.
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

/// Returns a tree whose nodes have `mean` children on average: `children` or none.
[[nodiscard]] constexpr tree make_tree(std::uint32_t roots, std::uint32_t children, double mean) {
  return {roots, children, static_cast<std::uint64_t>(mean / children * 4294967296.0)};
}

/// Result of a search: the number of nodes, and their sum modulo 2^64.
struct findings {
  std::uint64_t nodes = 0;
  std::uint64_t sum = 0;
  friend bool operator==(const findings&, const findings&) = default;
};

/// Searches with one thread, as an independent answer. Unless null, `levels` is increased by the
/// number of levels below the root.
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
