// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Cores this process may use (hwloc, within the affinity mask); at least 1.
[[nodiscard]] unsigned allowed_cores();
/// Ties the calling thread to the index-th of them, round robin. A refusal is ignored: binding is
/// a matter of speed, and containers often forbid it.
void bind_to_core(unsigned index) noexcept;

}  // namespace starling::detail
