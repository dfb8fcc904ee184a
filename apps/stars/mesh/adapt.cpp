// SPDX-License-Identifier: Apache-2.0
#include "mesh/adapt.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stars {
namespace {

/// The changes of all leaves of a tree.
class changes {
 public:
  changes(const octree& tree, std::span<const refinement> marks, level_limits limits)
      : m_tree(tree), m_wanted(marks.begin(), marks.end()),
        m_merges(std::size_t(tree.node_count() - tree.leaf_count())) {
    for (int leaf = 0; leaf < tree.leaf_count(); ++leaf) apply_limits(leaf, limits);
    divide_neighbours();
    merge_siblings();
  }

  [[nodiscard]] bool none() const {
    return std::ranges::find(m_wanted, refinement::refine) == m_wanted.end() &&
           std::ranges::find(m_merges, 1) == m_merges.end();
  }
  [[nodiscard]] std::vector<node_key> leaves() const {
    std::vector<node_key> result;
    result.reserve(std::size_t(m_tree.leaf_count()));
    for (int leaf = 0; leaf < m_tree.leaf_count(); ++leaf) {
      const node_key& k = m_tree.key(leaf);
      if (is_divided(leaf)) {
        for (int octant = 0; octant < 8; ++octant) result.push_back(k.child(octant));
      } else if (k.level == 0 || !merges(m_tree.parent(leaf))) {
        result.push_back(k);
      } else if (k.octant() == 0) {
        result.push_back(k.parent());
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_divided(int leaf) const {
    return m_wanted[std::size_t(leaf)] == refinement::refine;
  }
  [[nodiscard]] bool merges(int interior) const {
    return m_merges[std::size_t(interior - m_tree.leaf_count())] != 0;
  }

  void apply_limits(int leaf, level_limits limits) {
    const int level = m_tree.key(leaf).level;
    refinement& wanted = m_wanted[std::size_t(leaf)];
    if (level < limits.min) wanted = refinement::refine;
    if (level > limits.max) wanted = refinement::coarsen;
    if (level == limits.max && wanted == refinement::refine) wanted = refinement::keep;
    if (level == limits.min && wanted == refinement::coarsen) wanted = refinement::keep;
  }

  /// Calls function(node) for each neighbour of `node` in the domain, with its number or -1 and its
  /// key, until it returns false.
  template <class Function>
  bool all_neighbours(int node, const Function& function) const {
    for (int d = 0; d < direction_count; ++d) {
      const auto n = m_tree.key(node).neighbour(direction_vector(d), m_tree.is_periodic());
      if (n && !function(m_tree.find(*n), *n)) return false;
    }
    return true;
  }

  /// Divides the coarser leaves beside divided leaves, theirs in turn, and so on.
  void divide_neighbours() {
    std::vector<int> divided;
    for (int leaf = 0; leaf < m_tree.leaf_count(); ++leaf)
      if (is_divided(leaf)) divided.push_back(leaf);
    while (!divided.empty()) {
      const int leaf = divided.back();
      divided.pop_back();
      all_neighbours(leaf, [&](int neighbour, const node_key& k) {
        if (neighbour >= 0) return true;
        const int coarse = m_tree.find(k.parent());
        if (!is_divided(coarse)) divided.push_back(coarse);
        m_wanted[std::size_t(coarse)] = refinement::refine;
        return true;
      });
    }
  }

  /// Finds the interior nodes whose children merge, finest first: what a node may do depends on
  /// its children's neighbours, which are one level finer.
  void merge_siblings() {
    std::vector<std::vector<int>> by_level(std::size_t(m_tree.finest_level()) + 1);
    for (int node = m_tree.leaf_count(); node < m_tree.node_count(); ++node)
      by_level[std::size_t(m_tree.key(node).level)].push_back(node);
    for (auto nodes = by_level.rbegin(); nodes != by_level.rend(); ++nodes)
      for (const int node : *nodes)
        m_merges[std::size_t(node - m_tree.leaf_count())] = may_merge(node) ? 1 : 0;
  }
  [[nodiscard]] bool may_merge(int node) const {
    const auto& children = m_tree.children(node);
    const auto agrees = [&](int child) {
      return m_tree.is_leaf(child) && m_wanted[std::size_t(child)] == refinement::coarsen;
    };
    const auto has_no_finer_neighbour = [&](int child) {
      return all_neighbours(child, [&](int n, const node_key&) {
        if (n < 0) return true;
        return m_tree.is_leaf(n) ? !is_divided(n) : merges(n);
      });
    };
    return std::all_of(children.begin(), children.end(), agrees) &&
           std::all_of(children.begin(), children.end(), has_no_finer_neighbour);
  }

  const octree& m_tree;
  std::vector<refinement> m_wanted;  ///< by leaf
  std::vector<char> m_merges;        ///< by interior node
};

}  // namespace

octree adapt(const octree& tree, std::span<const refinement> marks, level_limits limits) {
  if (marks.size() != std::size_t(tree.leaf_count()))
    throw std::invalid_argument("adapt: " + std::to_string(marks.size()) + " marks for " +
                                std::to_string(tree.leaf_count()) + " leaves");
  if (limits.min < 0 || limits.min > limits.max || limits.max > deepest_level)
    throw std::invalid_argument("adapt: the limits of levels are " + std::to_string(limits.min) +
                                " and " + std::to_string(limits.max));
  const changes all(tree, marks, limits);
  return all.none() ? tree : octree(all.leaves(), tree.boundary());
}

}  // namespace stars
