// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the parts of the next tree begin, by the measured times of the present parts.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "mesh/regrid_plan.hpp"

namespace stars {

/// Returns the part that has a leaf. `first_leaves` has the first leaf of each part.
[[nodiscard]] inline int part_of(std::span<const int> first_leaves, int leaf) {
  return int(std::upper_bound(first_leaves.begin(), first_leaves.end(), leaf) -
             first_leaves.begin()) -
         1;
}

/// Returns for each leaf of the next tree, which has `leaves`, the first leaf of the present tree
/// that it is made of.
[[nodiscard]] std::vector<int> origins_of(const regrid_plan& plan, int leaves);

/// The leaves of the next tree, which may be the present one, and the present parts.
struct division_input {
  std::span<const int> from;  ///< `origins_of` the leaves of the next tree
  std::span<const int> now;   ///< first leaf of each part of the present tree
  int leaves_now;             ///< of the present tree
};

/// Returns the first leaf of each part of the next tree. A leaf costs what one of the part that
/// had it has cost on the average: `seconds` has the measured time of each part. Unknown or
/// impossible times (none, zero, negative, NaN) of any part make all leaves cost the same.
///
/// The present cuts stay, at the same place of the domain, unless `divide` makes the heaviest part
/// lighter by more than the share `tolerance`: noise must not move leaves. Equal arguments give
/// equal results on all ranks. Throws std::invalid_argument if there are more parts than leaves.
[[nodiscard]] std::vector<int> next_parts(const division_input& in, std::span<const double> seconds,
                                          double tolerance = 0.05);

/// Returns how many leaves of the next tree are in another part than what they are made of. A leaf
/// that is made of eight counts as the first of them.
[[nodiscard]] int count_moved(const division_input& in, std::span<const int> next);

/// Returns the largest of these times divided by their mean; 0 if one of them is unknown.
[[nodiscard]] double imbalance_of(std::span<const double> seconds);

}  // namespace stars
