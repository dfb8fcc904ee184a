// SPDX-License-Identifier: Apache-2.0
#include "io/node_means.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace stars {

namespace {

constexpr std::size_t half = node_edge / 2;
constexpr std::size_t octant_cells = half * half * half;

constexpr std::size_t cell(std::size_t x, std::size_t y, std::size_t z) {
  return x + node_edge * (y + node_edge * z);
}

/// Returns the offset of the first cell of an octant.
constexpr std::size_t corner(int octant) {
  const auto o = static_cast<std::size_t>(octant);
  return cell((o & 1) * half, ((o >> 1) & 1) * half, (o >> 2) * half);
}

/// Returns the mean of the 2^3 cells whose lowest corner is `first`. The sum is in ascending order,
/// so that mirror images and rotations of the data give the same bits.
double mean_of_8(const double* first) {
  std::array<double, 8> values{};
  for (std::size_t i = 0; i < 8; ++i) values[i] = first[cell(i & 1, (i >> 1) & 1, i >> 2)];
  std::sort(values.begin(), values.end());
  double sum = 0.0;
  for (const double value : values) sum += value;
  return 0.125 * sum;
}

/// Calls store(field, x, y, z, mean) for the cells of the octant that a child fills.
template <class Store>
void restrict_child(std::span<const double> child, const Store& store) {
  for (std::size_t f = 0; f < stored_fields; ++f)
    for (std::size_t z = 0; z < half; ++z)
      for (std::size_t y = 0; y < half; ++y)
        for (std::size_t x = 0; x < half; ++x)
          store(f, x, y, z, mean_of_8(&child[f * node_cells + cell(2 * x, 2 * y, 2 * z)]));
}

constexpr std::size_t octant_cell(std::size_t f, std::size_t x, std::size_t y, std::size_t z) {
  return f * octant_cells + x + half * (y + half * z);
}

[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument("parts of the leaves: " + reason);
}

}  // namespace

node_means::node_means(const octree& tree, std::span<const int> first_leaves, int part,
                       std::span<const double> leaves)
    : m_tree(tree), m_firsts(first_leaves.begin(), first_leaves.end()), m_part(part),
      m_leaves(leaves) {
  if (m_firsts.empty() || m_firsts.front() != 0) refuse("the first part must begin with leaf 0");
  if (std::adjacent_find(m_firsts.begin(), m_firsts.end(), std::greater_equal<>()) !=
          m_firsts.end() ||
      m_firsts.back() >= tree.leaf_count())
    refuse("each part must have a leaf");
  if (part < 0 || std::size_t(part) >= m_firsts.size())
    refuse("there is no part " + std::to_string(part));
  const int count = end_of(part) - m_firsts[std::size_t(part)];
  if (leaves.size() != std::size_t(count) * node_values)
    refuse(std::to_string(leaves.size()) + " values for " + std::to_string(count) + " leaves");
  number_nodes();
  list_transfers();
}

node_means::node_means(const octree& tree, std::span<const double> leaves)
    : node_means(tree, std::array<int, 1>{0}, 0, leaves) {}

int node_means::end_of(int part) const {
  const auto next = std::size_t(part) + 1;
  return next < m_firsts.size() ? m_firsts[next] : m_tree.leaf_count();
}

int node_means::part_of(int node) const {
  const int leaf = m_first_leaf[std::size_t(node)];
  return int(std::upper_bound(m_firsts.begin(), m_firsts.end(), leaf) - m_firsts.begin()) - 1;
}

void node_means::number_nodes() {
  const int begin = m_firsts[std::size_t(m_part)], end = end_of(m_part);
  int interior_count = 0;
  m_first_leaf.resize(std::size_t(m_tree.node_count()));
  m_slots.assign(std::size_t(m_tree.node_count()), -1);
  for (int node = 0; node < m_tree.node_count(); ++node) {
    const bool leaf = m_tree.is_leaf(node);
    const int first = leaf ? node : m_first_leaf[std::size_t(m_tree.children(node)[0])];
    m_first_leaf[std::size_t(node)] = first;
    if (first < begin || first >= end) continue;
    m_slots[std::size_t(node)] = leaf ? node - begin : interior_count++;
  }
  m_interior.resize(std::size_t(interior_count) * node_values);
}

void node_means::list_transfers() {
  for (int child = 0; child < m_tree.root(); ++child) {
    const octant_transfer t{child, part_of(child), part_of(m_tree.parent(child))};
    if (t.from != t.to && (t.from == m_part || t.to == m_part)) m_transfers.push_back(t);
  }
}

std::span<const double> node_means::values(int node) const {
  const auto at = std::size_t(m_slots[std::size_t(node)]) * node_values;
  return m_tree.is_leaf(node) ? m_leaves.subspan(at, node_values)
                              : std::span(m_interior).subspan(at, node_values);
}

std::span<double> node_means::interior(int node) {
  return std::span(m_interior)
      .subspan(std::size_t(m_slots[std::size_t(node)]) * node_values, node_values);
}

void node_means::complete(int end) {
  for (; m_completed < end; ++m_completed) {
    const int parent = m_tree.parent(m_completed);
    if (!is_own(m_completed) || !is_own(parent)) continue;
    double* octant = interior(parent).data() + corner(m_tree.key(m_completed).octant());
    restrict_child(values(m_completed), [&](auto f, auto x, auto y, auto z, double mean) {
      octant[f * node_cells + cell(x, y, z)] = mean;
    });
  }
}

void node_means::advance(const octant_transfer& next) {
  if (m_transferred == m_transfers.size() || m_transfers[m_transferred] != next)
    throw std::logic_error("node_means: the transfer of the " + describe(m_tree.key(next.child)) +
                           " is not the next one");
  complete(next.child);
}

std::vector<double> node_means::give(const octant_transfer& next) {
  advance(next);
  if (next.from != m_part) throw std::logic_error("node_means: the transfer is to this part");
  std::vector<double> cells(octant_values);
  restrict_child(values(next.child), [&](auto f, auto x, auto y, auto z, double mean) {
    cells[octant_cell(f, x, y, z)] = mean;
  });
  ++m_transferred;
  return cells;
}

void node_means::take(const octant_transfer& next, std::span<const double> cells) {
  advance(next);
  if (next.to != m_part || cells.size() != octant_values)
    throw std::logic_error("node_means: not the cells of an octant for this part");
  double* octant =
      interior(m_tree.parent(next.child)).data() + corner(m_tree.key(next.child).octant());
  for (std::size_t f = 0; f < stored_fields; ++f)
    for (std::size_t z = 0; z < half; ++z)
      for (std::size_t y = 0; y < half; ++y)
        for (std::size_t x = 0; x < half; ++x)
          octant[f * node_cells + cell(x, y, z)] = cells[octant_cell(f, x, y, z)];
  ++m_transferred;
}

std::vector<int> node_means::nodes(int level) const {
  std::vector<int> found;
  for (int node = 0; node < m_tree.node_count(); ++node)
    if (is_own(node) && m_tree.key(node).level == level) found.push_back(node);
  std::sort(found.begin(), found.end(),
            [&](int a, int b) { return m_tree.key(a) < m_tree.key(b); });
  return found;
}

int node_means::nodes_before(int level) const {
  int count = 0;
  for (int node = 0; node < m_tree.node_count(); ++node)
    if (m_tree.key(node).level == level &&
        m_first_leaf[std::size_t(node)] < m_firsts[std::size_t(m_part)])
      ++count;
  return count;
}

std::span<const double> node_means::data(int node) {
  if (!is_own(node))
    throw std::logic_error("node_means: the " + describe(m_tree.key(node)) + " is of another part");
  if (m_transferred != m_transfers.size())
    throw std::logic_error("node_means: octants have not been exchanged");
  complete(m_tree.root());
  return values(node);
}

}  // namespace stars
