// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of cells between the state and messages to other parts of the domain.
#pragma once

#include <cstdint>

#include "mesh/layout.hpp"
#include "mesh/partition.hpp"

namespace stars {

/// The fields in a message.
enum class halo_fields : std::int8_t {
  all,
  all_but_tracer,  ///< the tracer is re-set by its owner next
  tracer
};
constexpr int field_count_of(halo_fields which) {
  return which == halo_fields::all      ? field_count
         : which == halo_fields::tracer ? 1
                                        : field_count - 1;
}
/// Returns the k-th field of a message.
constexpr int field_of(halo_fields which, int k) {
  if (which == halo_fields::tracer) return field::tau;
  return which == halo_fields::all || k < field::tau ? k : k + 1;
}

/// A row of cells of a box, in a state and in the message: [box][field][z][y][x].
struct halo_row {
  index_type in_state, in_message;
  int cells;  ///< 0: the box has no such row

  constexpr halo_row(const halo_box& b, halo_fields which, int k, int row)
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
  halo_fields which;

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
  halo_fields which;

  constexpr extent range() const { return {edge * edge, field_count_of(which), count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const halo_row r(boxes[i.z], which, i.y, i.x);
    for (int x = 0; x < r.cells; ++x) state[r.in_state + x] = message[r.in_message + x];
  }
};

}  // namespace stars
