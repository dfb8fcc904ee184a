// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <functional>
#include <string>
#include <vector>

namespace starling::launch {

/// The processors (hardware threads) of one core.
using core = std::vector<int>;

/// The cores that this process may use, those of a package side by side.
[[nodiscard]] std::vector<core> usable_cores();

/// The same for given processors; `topology` gives a number of /sys/…/cpu<N>/topology, by processor
/// and name.
[[nodiscard]] std::vector<core> group_by_core(
    const std::vector<int>& processors,
    const std::function<long(int processor, const std::string& name)>& topology);

/// The share of a rank: disjoint, contiguous, as even as can be. 0 < size ≤ cores.size().
[[nodiscard]] cpu_set_t share_of(const std::vector<core>& cores, int rank, int size);

}  // namespace starling::launch
