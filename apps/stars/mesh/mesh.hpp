// SPDX-License-Identifier: Apache-2.0
/// \file
/// The domain and its division into sub-grids, and the snapshot that all writers, readers and
/// drivers share.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mesh/octree.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

/// The cube [-xscale, xscale]^3, divided into the leaves of an octree: sub-grids of 8^3 cells.
/// Copies share the tree, which does not change.
class mesh {
 public:
  /// Makes a uniform mesh of 8^level sub-grids.
  mesh(int level = 0, double half_width = 1.0)  // NOLINT: a level is a mesh
      : mesh(octree::uniform(level), half_width) {}
  mesh(octree tree, double half_width)
      : m_tree(std::make_shared<const octree>(std::move(tree))), m_xscale(half_width) {}

  [[nodiscard]] const octree& tree() const { return *m_tree; }
  [[nodiscard]] double xscale() const { return m_xscale; }
  /// Returns the finest level. `cells_per_edge`, `dx`, `cell_volume`, `coordinate` and `centre` are
  /// those of this level.
  [[nodiscard]] int level() const { return m_tree->finest_level(); }
  [[nodiscard]] bool is_uniform() const { return m_tree->leaf_count(level()) == subgrid_count(); }

  [[nodiscard]] int subgrids_per_edge() const { return 1 << level(); }
  [[nodiscard]] int subgrid_count() const { return m_tree->leaf_count(); }
  [[nodiscard]] int cells_per_edge() const { return edge << level(); }
  [[nodiscard]] std::ptrdiff_t cell_count() const {
    return std::ptrdiff_t{subgrid_count()} * cells_per_subgrid;
  }
  [[nodiscard]] double dx() const { return 2.0 * m_xscale / cells_per_edge(); }
  [[nodiscard]] double cell_volume() const { return dx() * dx() * dx(); }

  /// Returns the coordinate of a point that is `half` half-cells from the lower domain face: cell i
  /// has its centre at 2i+1 and its faces at 2i and 2i+2. It rounds once, so that all sub-grids
  /// agree bitwise.
  [[nodiscard]] double coordinate(int half) const {
    return static_cast<double>(half - cells_per_edge()) * (m_xscale / cells_per_edge());
  }
  [[nodiscard]] double centre(int global_cell) const { return coordinate(2 * global_cell + 1); }

  /// Returns the frame of sub-grid n; beyond its open faces there is a boundary of this kind.
  [[nodiscard]] subgrid_frame frame_of(int n, boundary_kind kind) const {
    return stars::frame_of(m_tree->key(n), m_xscale, kind);
  }

  /// Returns the source of the ghosts of sub-grid n in a direction: its slot is a number of a
  /// sub-grid, or -1 if the source is of another level.
  [[nodiscard]] ghost_source source(int n, int d, boundary_kind kind) const {
    const ghost_node from = ghost_node_of(m_tree->key(n), direction_vector(d), kind);
    const int node = m_tree->find(from.node);
    return {node < subgrid_count() ? node : -1, {from.rule[0], from.rule[1], from.rule[2]}};
  }

  friend bool operator==(const mesh& a, const mesh& b) {
    return a.m_xscale == b.m_xscale && (a.m_tree == b.m_tree || *a.m_tree == *b.m_tree);
  }

 private:
  std::shared_ptr<const octree> m_tree;
  double m_xscale;
};

/// The whole state between two steps, as used by drivers, output and restart.
struct snapshot {
  mesh grid;
  double time = 0.0;
  long step = 0;
  double gamma = 1.4;
  std::string problem;
  boundary_kind boundary = boundary_kind::outflow;
  /// Integral over time and domain surface of each field's outward flux (amount, not density).
  std::array<double, field_count> outflow{};
  /// [sub-grid][field][z][y][x], interior cells only, x fastest.
  std::vector<double> data;

  /// Returns a copy of everything but the data.
  snapshot without_data() const {
    return {grid, time, step, gamma, problem, boundary, outflow, {}};
  }

  static std::size_t size_of(const mesh& grid) {
    return static_cast<std::size_t>(grid.cell_count()) * field_count;
  }
  std::size_t index(int subgrid, int f, triple cell) const {
    return (static_cast<std::size_t>(subgrid) * field_count + f) * cells_per_subgrid +
           (cell.z * edge + cell.y) * edge + cell.x;
  }
  /// Returns field `f` in the cell with global position `g` (0 … cells_per_edge-1 each) of a
  /// uniform mesh.
  double at(int f, triple g) const {
    const int id = grid.tree().find({grid.level(), {g.x / edge, g.y / edge, g.z / edge}});
    return data[index(id, f, {g.x % edge, g.y % edge, g.z % edge})];
  }
};

}  // namespace stars
