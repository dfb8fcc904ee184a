// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "backend.hpp"

namespace starling::detail {

/// Puts transfers into the order of their sources and joins those that are neighbours both where
/// they come from and where they go. Returns how many are left, in front. One joined transfer may
/// cross from one allocation to the next: who hands it to a driver must be ready for a refusal.
[[nodiscard]] std::size_t merge_adjacent(std::span<transfer> transfers) noexcept;

}  // namespace starling::detail
