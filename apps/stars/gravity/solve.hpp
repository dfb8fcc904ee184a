// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of a solve in their order, written once for all placements.
#pragma once

#include <cstddef>

#include "gravity/grouped_fields.hpp"

namespace stars {

struct gravity_options {
  double theta = 0.5;           ///< the opening parameter, see stencils
  bool corrects_torque = true;  ///< increases the error of accelerations, see add_correction
};

/// A density of the cells of all leaves: [leaf][8][8][8], `stride` numbers from leaf to leaf.
struct density_view {
  const double* first;
  int stride;
};

/// How a solve finds the centres of moments.
enum class centres_kind {
  found,  ///< the centres of mass of a positive density
  kept    ///< those of the solve before, for a density of any sign
};

/// The forms of the kernels that do most of the work; all give the same bits.
enum class gravity_form {
  plain,   ///< one index for each cell
  swept,   ///< vectors, for the cores of a host
  grouped  ///< groups of threads with shared memory, for GPUs
};

/// The device that runs a solve.
struct gravity_target {
  int width = 1;                  ///< lanes of the vectors that run swept kernels
  std::size_t scratch_bytes = 0;  ///< the most memory of a group of threads
};

/// Calls submit(kernel) for a field: in groups of threads if this form is wanted and the memory of
/// a group suffices.
template <gravity_form Form, class Grouped, class Field, class Submit>
void submit_field(const Field& field, const gravity_target& target, const Submit& submit) {
  if constexpr (Form == gravity_form::grouped)
    if (std::size_t(Grouped::scratch_bytes) <= target.scratch_bytes) return submit(Grouped{field});
  submit(field);
}
template <gravity_form Form, class Submit>
void submit_near_field(const near_field& field, const gravity_target& target,
                       const Submit& submit) {
  switch (field.partners.reach) {
    case 1:
      return submit_field<Form, grouped_near_field<1>>(field, target, submit);
    case 2:
      return submit_field<Form, grouped_near_field<2>>(field, target, submit);
    case 3:
      return submit_field<Form, grouped_near_field<3>>(field, target, submit);
    default:
      submit(field);  // a tree of one leaf
  }
}

/// Calls submit(kernel) for the kernels of a solve, each of which reads what earlier ones wrote.
template <gravity_form Form, class Submit>
void submit_solve(const gravity_plan& plan, const gravity_arrays& arrays,
                  const density_view& density, centres_kind centres, bool corrects_torque,
                  const gravity_target& target, const Submit& submit) {
  const gravity_view& tree = plan.tree;
  const bool kept = centres == centres_kind::kept, corrects = corrects_torque && !kept;
  const int sweep = Form == gravity_form::swept ? sweep_of(target.width) : 0;

  submit(find_masses{density.first, density.stride, tree, arrays.masses, tree.leaves});
  for (auto level = plan.interior.rbegin(); level != plan.interior.rend(); ++level)
    submit(sum_moments{tree, arrays, level->nodes, level->count, kept});
  int interior = 0;
  for (const node_list& level : plan.interior) interior += level.count;
  const far_field far{tree, arrays, plan.far, plan.far_in_root, interior, kept, corrects, sweep};
  if (interior > 0) submit_field<Form, grouped_far_field>(far, target, submit);
  for (std::size_t level = 1; level < plan.interior.size(); ++level)
    submit(inherit{tree, arrays, plan.interior[level].nodes, plan.interior[level].count});
  const near_field near{tree, arrays, plan.all, plan.pairs, tree.leaves, sweep};
  submit_near_field<Form>(near, target, submit);
  if (plan.beside_finer.count > 0)
    submit(beside_finer{tree, arrays, plan.far, plan.near, plan.beside_finer.nodes,
                        plan.beside_finer.count, kept, corrects, sweep});
  if (plan.beside_coarser.count > 0)
    submit(beside_coarser{tree, arrays, plan.near, plan.beside_coarser.nodes,
                          plan.beside_coarser.count});
  submit(finish_leaves{tree, arrays, tree.leaves});
}

}  // namespace stars
