// SPDX-License-Identifier: Apache-2.0
#include "mesh/leaf_flags.hpp"

#include <utility>

namespace stars {
namespace {

class marker {
 public:
  marker(const octree& tree, std::span<const leaf_flags> flags)
      : m_tree(tree), m_flags(flags), m_marks(flags.size(), refinement::keep) {}

  std::vector<refinement> find() {
    for (int n = 0; n < m_tree.leaf_count(); ++n)
      if (of(n).has(leaf_flags::in_band)) mark(n) = refinement::refine;
    for (int n = m_tree.leaf_count(); n < m_tree.node_count(); ++n) {
      if (stays_divided(n)) continue;
      for (const int child : m_tree.children(n)) mark(child) = refinement::coarsen;
    }
    return std::move(m_marks);
  }

 private:
  [[nodiscard]] const leaf_flags& of(int leaf) const { return m_flags[std::size_t(leaf)]; }
  [[nodiscard]] refinement& mark(int leaf) { return m_marks[std::size_t(leaf)]; }

  /// Returns whether the children of a node cannot become one leaf.
  [[nodiscard]] bool stays_divided(int node) {
    for (const int child : m_tree.children(node))
      if (!m_tree.is_leaf(child) || mark(child) == refinement::refine ||
          of(child).has(leaf_flags::in_coarse))
        return true;
    for (int face = 0; face < 6; ++face)
      if (flagged_beyond(node, face / 2, face % 2)) return true;
    return false;
  }
  /// Returns whether cells of the node's level beyond one of its faces are flagged. Beyond the
  /// domain, they are images of cells inside.
  [[nodiscard]] bool flagged_beyond(int node, int axis, int side) const {
    int v[3] = {};
    v[axis] = 2 * side - 1;
    const auto next = m_tree.key(node).neighbour({v[0], v[1], v[2]}, m_tree.is_periodic());
    if (!next) return false;
    const int other = m_tree.find(*next);  // a node, as the tree is balanced
    const int face = leaf_flags::face(axis, 1 - side);
    if (m_tree.is_leaf(other)) return of(other).has(leaf_flags::own_at_face + face);
    for (int octant = 0; octant < 8; ++octant) {
      if ((octant >> axis & 1) != 1 - side) continue;
      const int child = m_tree.children(other)[std::size_t(octant)];
      // Its cells of this level are means that no leaf knows.
      if (!m_tree.is_leaf(child)) return true;
      if (of(child).has(leaf_flags::coarse_at_face + face)) return true;
    }
    return false;
  }

  const octree& m_tree;
  std::span<const leaf_flags> m_flags;
  std::vector<refinement> m_marks;
};

}  // namespace

std::vector<refinement> find_marks(const octree& tree, std::span<const leaf_flags> flags) {
  return marker(tree, flags).find();
}

}  // namespace stars
