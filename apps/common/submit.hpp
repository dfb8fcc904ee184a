// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

namespace apps {

/// Submits a kernel of the physics over its own range.
template <class Kernel>
void submit(starling::stream& to, const Kernel& kernel) {
  const auto r = kernel.range();
  to.submit({r.x, r.y, r.z}, kernel);
}

/// Returns whether kernels run as ordinary code on this processor, with its caches and memory.
[[nodiscard]] inline bool on_processor(const starling::device& where) noexcept {
  const starling::backend_kind kind = where.backend();
  return kind == starling::backend_kind::host ||
         (kind == starling::backend_kind::kokkos && where.properties().bus_id.empty());
}

}  // namespace apps
