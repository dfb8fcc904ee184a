// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arrays of gravity. All have the cells of a node in the order of cell_order.hpp.
#pragma once

#include "gravity/expansion.hpp"
#include "gravity/tables.hpp"

namespace stars {

inline constexpr int result_count = 4;  ///< potential, then acceleration

/// The addresses of the arrays of one tree, in memory of the host or of a device. Interior nodes
/// are counted from 0 on.
struct gravity_arrays {
  double* masses;       ///< [leaves][512]: of cells
  double* centres;      ///< [interior][3][512]: centre of mass, from the centre of the cell
  double* moments;      ///< [interior][20][512]: about the centre of mass
  double* expansions;   ///< [interior][20][512]: about the centre of mass
  double* corrections;  ///< [interior][3][512]: see `add_correction`
  double* results;      ///< [leaves][4][512]: the potential and its first derivatives, which
                        ///< `finish_leaves` turns into accelerations

  /// Returns the mass of a cell of a leaf.
  constexpr double mass(const node_cell& c) const {
    return masses[index_type{c.node} * cells_per_subgrid + c.place];
  }
};

/// The sizes of the arrays, in numbers.
struct gravity_sizes {
  std::size_t masses, centres, moments, expansions, corrections, results;

  gravity_sizes(int leaves, int interior)
      : masses(cells(leaves)), centres(3 * cells(interior)), moments(term::count * cells(interior)),
        expansions(moments), corrections(centres), results(result_count * cells(leaves)) {}

 private:
  static std::size_t cells(int nodes) { return std::size_t(nodes) * cells_per_subgrid; }
};

/// The arrays of a tree without results: vectors or buffers of numbers.
template <class Array>
struct gravity_memory {
  /// allocate(n) returns an array of n numbers.
  template <class Allocate>
  gravity_memory(const gravity_sizes& s, const Allocate& allocate)
      : masses(allocate(s.masses)), centres(allocate(s.centres)), moments(allocate(s.moments)),
        expansions(allocate(s.expansions)), corrections(allocate(s.corrections)) {}

  gravity_arrays arrays(double* results) {
    return {masses.data(),     centres.data(),     moments.data(),
            expansions.data(), corrections.data(), results};
  }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(double) * (masses.size() + centres.size() + moments.size() + expansions.size() +
                             corrections.size());
  }

  Array masses, centres, moments, expansions, corrections;
};

/// Reads and writes `Count` numbers of one cell, from the arrays [node][Count][512].
template <int Count>
struct cell_numbers {
  double* first;

  constexpr cell_numbers(double* array, int node, int place)
      : first(array + index_type{node} * (Count * cells_per_subgrid) + place) {}
  constexpr double& operator[](int k) const { return first[index_type{k} * cells_per_subgrid]; }
};

/// Load and store the numbers of a vector of cells, from `place` on.
template <class V>
constexpr vector3<V> load_vector(double* array, int node, int place) {
  using o = ops<V>;
  const cell_numbers<3> at(array, node, place);
  return {o::load(&at[0]), o::load(&at[1]), o::load(&at[2])};
}
template <class V>
constexpr void store_vector(double* array, int node, int place, const vector3<V>& v) {
  using o = ops<V>;
  const cell_numbers<3> at(array, node, place);
  o::store(&at[0], v.x);
  o::store(&at[1], v.y);
  o::store(&at[2], v.z);
}
template <class V>
constexpr series<V> load_series(double* array, int node, int place) {
  const cell_numbers<term::count> at(array, node, place);
  series<V> s;
  for (int t = 0; t < term::count; ++t) s.at[t] = ops<V>::load(&at[t]);
  return s;
}
template <class V>
constexpr void store_series(double* array, int node, int place, const series<V>& s) {
  const cell_numbers<term::count> at(array, node, place);
  for (int t = 0; t < term::count; ++t) ops<V>::store(&at[t], s.at[t]);
}

/// The moments of a cell, and their centre from the centre of the cell.
template <class V>
struct cell_moments {
  series<V> moments;
  vector3<V> centre;
};
/// Returns those of a cell of any node: a leaf has its masses in the centres of cells.
constexpr cell_moments<double> moments_of(const gravity_view& tree, const gravity_arrays& a,
                                          node_cell c) {
  cell_moments<double> m;
  if (tree.is_leaf(c.node)) {
    m.moments.at[term::one] = a.mass(c);
  } else {
    m.moments = load_series<double>(a.moments, c.node - tree.leaves, c.place);
    m.centre = load_vector<double>(a.centres, c.node - tree.leaves, c.place);
  }
  return m;
}

constexpr vector3<double> scaled(const triple& v, double factor) {
  return {factor * v.x, factor * v.y, factor * v.z};
}
/// Returns the centre of child `group` of a cell from the centre of that cell, in cells of `dx`.
constexpr vector3<double> child_centre(int group, double dx) {
  const triple p = parity_vector(group);
  return scaled({2 * p.x - 1, 2 * p.y - 1, 2 * p.z - 1}, 0.25 * dx);
}

}  // namespace stars
