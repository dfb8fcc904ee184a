// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling::detail {

/// How many processors' time the control groups of this process allow (`cpu.max` of cgroup v2,
/// `cpu.cfs_quota_us` of v1, the least of the group and those above it), rounded up; 0: no limit.
/// Files are read below the folder `root`, which is "/" but in tests.
[[nodiscard]] unsigned cpu_limit(const std::string& root);

}  // namespace starling::detail
