// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "backend.hpp"

namespace starling::detail {

/// Sorts transfers by source address and merges transfers that are adjacent in both source and
/// destination. Returns the number of remaining transfers, which are at the front. A merged
/// transfer may cross from one allocation into the next; callers must expect a driver to refuse it.
[[nodiscard]] std::size_t merge_adjacent(std::span<transfer> transfers) noexcept;

}  // namespace starling::detail
