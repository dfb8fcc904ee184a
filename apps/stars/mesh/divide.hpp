// SPDX-License-Identifier: Apache-2.0
/// \file
/// The division of the leaves into parts by weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stars {

/// Returns the first leaf of each of `parts` runs of consecutive leaves; together they are all
/// leaves. Each part has at least one leaf, and the largest weight of a part is as small as
/// possible. Among these divisions the one is chosen whose cuts are near those of equal shares, so
/// that equal weights give the division of `equal_parts`.
///
/// `weights` are by leaf, at least 0, in any unit: nanoseconds, say. They are whole numbers, so
/// that sums are exact and all ranks find the same division. If all weights are 0 they count as
/// equal. Throws std::invalid_argument unless 1 ≤ parts ≤ leaves, if a weight is negative, or if
/// the sum of all weights times `parts` exceeds 2^63 - 1. Time: leaves + 64 parts log(leaves).
[[nodiscard]] std::vector<int> divide(std::span<const std::int64_t> weights, int parts);

}  // namespace stars
