// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace starling::detail {

/// Lowers the priority of the calling thread, which writes, for good. Beside a busy worker it gets
/// a tenth of the time of a core, so that a step of the program takes at most some 10 % longer; on
/// an idle core it gets all. A restart, which everything waits for, comes before.
inline void lower_priority() noexcept {
  constexpr int niceness = 10;
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, niceness));  // Linux: of this thread only
}

}  // namespace starling::detail
