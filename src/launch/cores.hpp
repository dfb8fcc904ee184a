// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <functional>
#include <string>
#include <vector>

namespace starling::launch {

/// Processors (hardware threads) of one core.
using core = std::vector<int>;

/// Returns the cores that this process may use, ordered by package.
[[nodiscard]] std::vector<core> usable_cores();

/// Groups processors into cores, ordered by package. `topology` returns the number in the file
/// /sys/…/cpu<processor>/topology/<name>, or -1.
[[nodiscard]] std::vector<core> group_by_core(
    const std::vector<int>& processors,
    const std::function<long(int processor, const std::string& name)>& topology);

/// Returns a rank's share of the cores: shares are disjoint, contiguous and differ by at most one
/// core. Requires 0 < size ≤ cores.size().
[[nodiscard]] cpu_set_t share_of(const std::vector<core>& cores, int rank, int size);

}  // namespace starling::launch
