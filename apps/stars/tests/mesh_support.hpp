// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the tests of octrees.
#pragma once

#include <array>
#include <ostream>
#include <vector>

#include "mesh/adapt.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {

inline constexpr boundary_kind all_boundaries[] = {
    boundary_kind::outflow, boundary_kind::reflecting, boundary_kind::periodic};

/// Returns a mark for each leaf: refined with probability `refine`, coarsened with probability
/// `coarsen`. Siblings are coarsened together more often than by chance.
inline std::vector<refinement> random_marks(const octree& tree, generator& random, double refine,
                                            double coarsen) {
  std::vector<refinement> marks;
  double family = 0.0;
  for (const node_key& k : tree.leaves()) {
    if (k.level == 0 || k.octant() == 0) family = random();
    marks.push_back(random() < refine                     ? refinement::refine
                    : family < coarsen && random() < 0.98 ? refinement::coarsen
                                                          : refinement::keep);
  }
  return marks;
}

/// Returns a tree with leaves on several levels, the finest of them at most `max`.
inline octree random_tree(std::uint64_t seed, boundary_kind boundary, int max) {
  generator random(seed);
  octree tree = octree::uniform(int(seed % 3), boundary);
  for (int round = 0; round < 4; ++round) {
    const double refine = tree.leaf_count() == 1 ? 0.9 : tree.leaf_count() < 65 ? 0.2 : 0.04;
    tree = adapt(tree, random_marks(tree, random, refine, 0.3), {0, max});
  }
  return tree;
}

struct tree_case {
  std::uint64_t seed;
  boundary_kind boundary;
};
inline std::ostream& operator<<(std::ostream& out, const tree_case& c) {
  return out << name_of(c.boundary) << "_" << c.seed;
}
inline std::vector<tree_case> tree_cases(std::uint64_t count) {
  std::vector<tree_case> cases;
  for (const boundary_kind b : all_boundaries)
    for (std::uint64_t seed = 1; seed <= count; ++seed) cases.push_back({seed, b});
  return cases;
}

/// The leaf in each of the equal cubes of a level that is at least the finest of the tree: a
/// picture of the tree for checks by exhaustion.
class picture {
 public:
  picture(const octree& tree, int level)
      : m_edge(1 << level), m_periodic(tree.is_periodic()),
        m_leaves(std::size_t(m_edge) * std::size_t(m_edge) * std::size_t(m_edge)) {
    for (int leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      const node_key& k = tree.key(leaf);
      const int size = m_edge >> k.level;
      for (int i = 0; i < size * size * size; ++i)
        m_leaves[index(k.place.x * size + i % size, k.place.y * size + i / size % size,
                       k.place.z * size + i / size / size)] = leaf;
    }
  }

  /// Calls function(a, b) for the leaves of all pairs of cubes that share a face, edge or vertex,
  /// in both orders.
  template <class Function>
  void for_each_pair(const Function& function) const {
    for (int z = 0; z < m_edge; ++z)
      for (int y = 0; y < m_edge; ++y)
        for (int x = 0; x < m_edge; ++x)
          for (int d = 0; d < direction_count; ++d) {
            const triple v = direction_vector(d);
            triple n{x + v.x, y + v.y, z + v.z};
            if (m_periodic) n = {wrapped(n.x), wrapped(n.y), wrapped(n.z)};
            if (is_inside(n)) function(m_leaves[index(x, y, z)], m_leaves[index(n.x, n.y, n.z)]);
          }
  }

 private:
  [[nodiscard]] std::size_t index(int x, int y, int z) const {
    return std::size_t(x) +
           std::size_t(m_edge) * (std::size_t(y) + std::size_t(m_edge) * std::size_t(z));
  }
  [[nodiscard]] int wrapped(int i) const { return (i + m_edge) % m_edge; }
  [[nodiscard]] bool is_inside(triple n) const {
    return wrapped(n.x) == n.x && wrapped(n.y) == n.y && wrapped(n.z) == n.z;
  }

  int m_edge;
  bool m_periodic;
  std::vector<int> m_leaves;
};

}  // namespace stars::test
