// SPDX-License-Identifier: Apache-2.0
/// \file
/// A copy of the cells of a node and of those around it, for vectors of cells.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "gravity/tables.hpp"
#include "kernel/lanes.hpp"

namespace stars {

/// Some numbers of each cell of a node and of the cells around it. Each group of cells has a
/// `group_cube`, so that the partners of a vector of receivers are a vector, too.
class cell_halo {
 public:
  /// Makes room for `numbers` of each cell as far as a stencil reaches.
  void reserve(int numbers, int reach) {
    m_cube = {reach};
    m_filled = {};
    m_cells.resize(std::size_t(numbers) * std::size_t(stride()));
  }
  /// Copies one number of the cells of a node and of its neighbours. `source(node)` returns where
  /// the node has this number, nullptr if it is 0 in all its cells.
  template <class Source>
  void copy(int number, const gravity_view& tree, int node, const Source& source) {
    for (int v = 0; v < surrounding_count; ++v) {
      const triple side = surrounding_vector(v);
      const int other = tree.surrounding(node, side);
      const double* from = other < 0 ? nullptr : source(other);
      copy_node(number, side, from);
      if (from != nullptr) m_filled[std::size_t(side_number(side.y, side.z))] = true;
    }
  }
  /// Returns where the first number of a cell of group 0 is. Partners of receivers that begin at
  /// its position `k` have theirs at `stencil_view::distances` from there.
  [[nodiscard]] const double* at(const triple& k) const { return m_cells.data() + m_cube.place(k); }
  /// Returns the distance of the next number of a cell.
  [[nodiscard]] std::ptrdiff_t stride() const {
    return std::ptrdiff_t{group_count} * m_cube.cells();
  }
  /// Returns whether some cell may have a number that is not 0, in the partners with a shift of
  /// receivers that begin at `k` and fill `rows` rows.
  [[nodiscard]] bool is_filled(const triple& k, const triple& shift, int rows) const {
    for (int n = 0; n < rows; ++n)
      if (m_filled[std::size_t(side_number(side_of(k.y + shift.y + n), side_of(k.z + shift.z)))])
        return true;
    return false;
  }
  /// Returns the distance of the next row of a group.
  [[nodiscard]] int row() const { return m_cube.row(); }

 private:
  static int side_number(int y, int z) { return (y + 1) + 3 * (z + 1); }
  struct run {
    int begin, end;  ///< positions in the group
  };
  [[nodiscard]] run run_of(int side) const {
    return side < 0    ? run{-m_cube.reach, 0}
           : side == 0 ? run{0, group_edge}
                       : run{group_edge, group_edge + m_cube.reach};
  }
  void copy_node(int number, const triple& side, const double* from) {
    const run x = run_of(side.x), y = run_of(side.y), z = run_of(side.z);
    for (int g = 0; g < group_count; ++g)
      for (int kz = z.begin; kz < z.end; ++kz)
        for (int ky = y.begin; ky < y.end; ++ky) {
          double* to = m_cells.data() + number * stride() + g * m_cube.cells() +
                       m_cube.place({x.begin, ky, kz});
          if (from == nullptr) {
            std::fill(to, to + (x.end - x.begin), 0.0);
            continue;
          }
          const double* row = from + g * cells_per_group +
                              place_in_group({x.begin - side.x * group_edge,
                                              ky - side.y * group_edge, kz - side.z * group_edge});
          std::copy(row, row + (x.end - x.begin), to);
        }
  }

  group_cube m_cube{};
  std::array<bool, 9> m_filled{};  ///< by the side of a row along y and z
  std::vector<double> m_cells;
};

/// Loads a number of as many partners as a vector has, which are in order of their places: from `p`
/// on, with the next row of their group at the distance `row`.
template <class V>
[[gnu::always_inline]] inline V load_partners(const double* p, int row) {
  if constexpr (ops<V>::width <= group_edge)
    return ops<V>::load(p);
  else
    return ops<V>::load_halves(p, p + row);
}

/// Returns the halo of the calling thread.
inline cell_halo& halo_of_thread() {
  static thread_local cell_halo mine;
  return mine;
}

}  // namespace stars
