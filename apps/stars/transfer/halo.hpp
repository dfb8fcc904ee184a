// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of cells between the state and messages to other parts of the domain.
#pragma once

#include "mesh/layout.hpp"
#include "mesh/part_plan.hpp"
#include "transfer/field_set.hpp"

namespace stars {

/// A row of cells of a box, in a state and in the message: [box][field][z][y][x].
struct halo_row {
  index_type in_state, in_message;
  int cells;  ///< 0: the box has no such row

  constexpr halo_row(const halo_box& b, field_set which, int k, int row)
      : in_state(compact_at(b.slot, field_of(which, k), b.lower.x, b.lower.y + row % b.size.y,
                            b.lower.z + row / b.size.y)),
        in_message(index_type{b.begin} * field_count_of(which) +
                   (index_type{k} * b.size.y * b.size.z + row) * b.size.x),
        cells(row < b.size.y * b.size.z ? b.size.x : 0) {}
};

/// message <- cells of `boxes`. Range (64, fields, boxes).
struct pack_halo {
  const double* state;    ///< [slots][15][512]
  double* message;        ///< [cells of all boxes · fields]
  const halo_box* boxes;  ///< [count]
  int count;
  field_set which;

  constexpr extent range() const { return {edge * edge, field_count_of(which), count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const halo_row r(boxes[i.z], which, i.y, i.x);
    for (int x = 0; x < r.cells; ++x) message[r.in_message + x] = state[r.in_state + x];
  }
};

/// cells of `boxes` <- message. Range (64, fields, boxes).
struct unpack_halo {
  double* state;
  const double* message;
  const halo_box* boxes;
  int count;
  field_set which;

  constexpr extent range() const { return {edge * edge, field_count_of(which), count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const halo_row r(boxes[i.z], which, i.y, i.x);
    for (int x = 0; x < r.cells; ++x) state[r.in_state + x] = message[r.in_message + x];
  }
};

}  // namespace stars
