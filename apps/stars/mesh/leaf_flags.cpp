// SPDX-License-Identifier: Apache-2.0
#include "mesh/leaf_flags.hpp"

#include <algorithm>
#include <cassert>

namespace stars {
namespace {

class marker {
 public:
  marker(const octree& tree, std::span<const leaf_flags> flags)
      : m_tree(tree), m_flags(flags), m_marks(flags.size(), refinement::keep) {}

  std::vector<refinement> find() {
    for (int n = 0; n < m_tree.leaf_count(); ++n)
      if (any(of(n).band)) mark(n) = refinement::refine;
    for (int n = m_tree.leaf_count(); n < m_tree.node_count(); ++n) {
      if (stays_divided(n)) continue;
      for (const int child : m_tree.children(n)) mark(child) = refinement::coarsen;
    }
    return std::move(m_marks);
  }

 private:
  template <std::size_t Size>
  static bool any(const std::uint8_t (&rows)[Size]) {
    return std::any_of(std::begin(rows), std::end(rows), [](std::uint8_t row) { return row != 0; });
  }
  /// Returns whether a cell of a cube of `size` cells, in the two layers at one of its faces, is
  /// flagged.
  template <class Row>
  static bool any_at_face(const Row* rows, int size, int axis, int side) {
    assert(size <= 8 * int(sizeof(Row)));
    const auto near = [&](int i) { return side == 0 ? i < 2 : i >= size - 2; };
    const unsigned layers = axis != 0 ? ~0u : side == 0 ? 3u : 3u << (size - 2);
    for (int k = 0; k < size * size; ++k) {
      if (axis == 1 && !near(k % size)) continue;
      if (axis == 2 && !near(k / size)) continue;
      if ((rows[k] & layers) != 0) return true;
    }
    return false;
  }

  [[nodiscard]] const leaf_flags& of(int leaf) const { return m_flags[std::size_t(leaf)]; }
  [[nodiscard]] refinement& mark(int leaf) { return m_marks[std::size_t(leaf)]; }

  /// Returns whether the children of a node cannot become one leaf.
  [[nodiscard]] bool stays_divided(int node) {
    for (const int child : m_tree.children(node))
      if (!m_tree.is_leaf(child) || mark(child) == refinement::refine || any(of(child).coarse))
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
    if (m_tree.is_leaf(other)) return any_at_face(of(other).own, edge, axis, 1 - side);
    for (int octant = 0; octant < 8; ++octant) {
      if ((octant >> axis & 1) != 1 - side) continue;
      const int child = m_tree.children(other)[std::size_t(octant)];
      // Its cells of this level are means that no leaf knows.
      if (!m_tree.is_leaf(child)) return true;
      if (any_at_face(of(child).coarse, leaf_flags::coarse_edge, axis, 1 - side)) return true;
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
