// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling::detail {

/// Returns the number of processors whose time the control groups of this process allow (`cpu.max`
/// of cgroup v2, `cpu.cfs_quota_us` of v1; the least of the group and its ancestors), rounded up;
/// 0: no limit. Files are read below the folder `root`, which is "/" except in tests.
[[nodiscard]] unsigned cpu_limit(const std::string& root);

}  // namespace starling::detail
