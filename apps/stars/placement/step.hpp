// SPDX-License-Identifier: Apache-2.0
/// \file
/// The step that all placements do.
#pragma once

#include <array>
#include <cstdint>

#include "hydro/scheme.hpp"
#include "transfer/field_set.hpp"

namespace stars {

/// What a placement does with all sub-grids of a part. Between stages the slots of other levels and
/// other parts hold the state that the next ghost cells are read from.
enum class operation : std::uint8_t {
  find_fluxes,         ///< ghost cells and fluxes; rows of mean fluxes at faces between levels
  exchange_fluxes,     ///< these rows, with other parts
  correct_fluxes,      ///< of coarse faces; then rates are known
  choose_time_step,    ///< the only operation that needs all sub-grids
  update,              ///< the state after the stage, floors, and the search for faults
  restrict_cells,      ///< slots of coarser levels
  exchange_cells,      ///< cells that other parts read
  prolong_cells,       ///< slots of finer levels
  synchronize_tracer,  ///< at the end of the step, from energies around each cell
  end_step             ///< outflow and clock
};

struct step_entry {
  operation what;
  int stage;  ///< whose result is read or written
  field_set fields = field_set::all;
};

inline constexpr int last_stage = stage_count - 1;

/// The sub-grids or prolongations that one call of an operation handles. The independent ones,
/// which come first, need no cells of other parts.
enum class share : std::uint8_t { all, independent, remaining };

/// Returns whether an operation may be done for the independent sub-grids first.
constexpr bool is_shared(operation what) {
  return what == operation::prolong_cells || what == operation::find_fluxes ||
         what == operation::synchronize_tracer;
}

/// A run of items from `begin` to before `end`.
struct item_range {
  int begin, end;
};
/// Returns the items of a share.
constexpr item_range range_of(share of, int independent, int all) {
  return {of == share::remaining ? independent : 0, of == share::independent ? independent : all};
}

/// The operations of a step in their order.
inline constexpr auto step_list = [] {
  std::array<step_entry, 7 * stage_count + 6> list{};
  std::size_t size = 0;
  const auto add = [&](operation what, int stage, field_set fields = field_set::all) {
    list[size++] = {what, stage, fields};
  };
  const auto fill = [&](int stage, field_set sent, field_set prolonged) {
    add(operation::restrict_cells, stage, sent);
    add(operation::exchange_cells, stage, sent);
    add(operation::prolong_cells, stage, prolonged);
  };
  for (int stage = 0; stage < stage_count; ++stage) {
    add(operation::find_fluxes, stage);
    add(operation::exchange_fluxes, stage);
    add(operation::correct_fluxes, stage);
    if (stage == 0) add(operation::choose_time_step, stage);
    add(operation::update, stage);
    if (stage < last_stage) fill(stage, field_set::all, field_set::all);
  }
  // The tracer is re-set from energies, so it is not sent before.
  fill(last_stage, field_set::all_but_tracer, field_set::energy);
  add(operation::synchronize_tracer, last_stage);
  fill(last_stage, field_set::tracer, field_set::all);
  add(operation::end_step, last_stage);
  return list;
}();
static_assert(step_list.back().what == operation::end_step);

}  // namespace stars
