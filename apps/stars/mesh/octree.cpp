// SPDX-License-Identifier: Apache-2.0
#include "mesh/octree.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace stars {
namespace {

constexpr std::uint64_t positions = node_key{}.end();

/// Returns the largest cube that begins at `begin` and ends at `end` or before it.
node_key largest_cube(std::uint64_t begin, std::uint64_t end) {
  node_key cube = node_key::at(deepest_level, begin);
  while (cube.level > 0 && cube.octant() == 0 && cube.parent().end() <= end) cube = cube.parent();
  return cube;
}

[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument("octree: " + reason);
}

}  // namespace

std::string describe(const node_key& node) {
  return "node at level " + std::to_string(node.level) + ", place (" +
         std::to_string(node.place.x) + ", " + std::to_string(node.place.y) + ", " +
         std::to_string(node.place.z) + ")";
}

octree::octree(std::vector<node_key> leaves, boundary_kind boundary)
    : m_boundary(boundary), m_keys(std::move(leaves)) {
  if (m_keys.size() > std::size_t(std::numeric_limits<int>::max() / 2)) refuse("too many leaves");
  for (const node_key& k : m_keys)
    if (!k.is_valid()) refuse(describe(k) + " is not in the domain");
  if (!std::is_sorted(m_keys.begin(), m_keys.end())) std::sort(m_keys.begin(), m_keys.end());
  m_leaf_count = int(m_keys.size());
  check_tiling();
  count_levels();
  add_interior();
  check_balance();
}

octree octree::with_boundary(boundary_kind kind) const {
  octree same = *this;
  same.m_boundary = kind;
  if (same.is_periodic() && !is_periodic()) same.check_balance();
  return same;
}

octree octree::uniform(int level, boundary_kind boundary) {
  if (level < 0 || level > max_level)
    refuse("a uniform tree of level " + std::to_string(level) + " is not supported");
  std::vector<node_key> leaves;
  const std::uint64_t count = std::uint64_t{1} << 3 * level;
  leaves.reserve(count);
  for (std::uint64_t n = 0; n < count; ++n) leaves.push_back(node_key::at(level, n));
  return octree(std::move(leaves), boundary);
}

int octree::find_containing(node_key key) const {
  int node = find(key);
  while (node < 0) {
    key = key.parent();
    node = find(key);
  }
  return node;
}

void octree::check_tiling() const {
  std::uint64_t covered = 0;
  for (const node_key& k : m_keys) {
    if (k.begin() < covered) refuse(describe(k) + " overlaps another leaf");
    if (k.begin() > covered)
      refuse("no leaf covers the " + describe(largest_cube(covered, k.begin())));
    covered = k.end();
  }
  if (covered != positions)
    refuse("no leaf covers the " + describe(largest_cube(covered, positions)));
}

void octree::count_levels() {
  for (const node_key& k : m_keys) {
    if (k.level > finest_level()) m_leaves_by_level.resize(std::size_t(k.level) + 1);
    ++m_leaves_by_level[std::size_t(k.level)];
  }
}

void octree::add_interior() {
  const std::size_t leaves = m_keys.size(), interior = (leaves - 1) / 7;
  m_keys.reserve(leaves + interior);
  m_children.reserve(interior);
  m_parents.assign(leaves + interior, -1);
  m_numbers = node_table(leaves + interior);
  // In Z-order the last octant of a node follows the seven before it.
  std::array<std::array<int, 8>, deepest_level + 1> open{};
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    int node = int(leaf);
    node_key k = m_keys[leaf];
    m_numbers.insert(k, node);
    while (k.level > 0) {
      std::array<int, 8>& siblings = open[std::size_t(k.level)];
      siblings[std::size_t(k.octant())] = node;
      if (k.octant() != 7) break;
      k = k.parent();
      node = int(m_keys.size());
      for (const int sibling : siblings) m_parents[std::size_t(sibling)] = node;
      m_children.push_back(siblings);
      m_keys.push_back(k);
      m_numbers.insert(k, node);
    }
  }
}

void octree::check_balance() const {
  // A child of an interior node finds a neighbour of its level or one level above if and only if
  // the interior node has all its neighbours.
  for (int node = m_leaf_count; node < node_count(); ++node)
    for (int d = 0; d < direction_count; ++d) {
      const auto n = key(node).neighbour(direction_vector(d), is_periodic());
      if (!n || find(*n) >= 0) continue;
      const node_key& coarse = key(find_containing(*n));
      refuse("not balanced: the leaf " + describe(coarse) + " is beside the children of the " +
             describe(key(node)));
    }
}

}  // namespace stars
