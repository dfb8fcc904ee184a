// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sets of fields that are transferred together.
#pragma once

#include <cstdint>

#include "mesh/layout.hpp"

namespace stars {

enum class field_set : std::int8_t {
  all,
  all_but_tracer,  ///< the tracer is re-set next
  tracer,
  energy  ///< egas
};
constexpr int field_count_of(field_set which) {
  return which == field_set::all              ? field_count
         : which == field_set::all_but_tracer ? field_count - 1
                                              : 1;
}
/// Returns the k-th field of a set.
constexpr int field_of(field_set which, int k) {
  if (which == field_set::tracer) return field::tau;
  if (which == field_set::energy) return field::egas;
  return which == field_set::all || k < field::tau ? k : k + 1;
}

}  // namespace stars
