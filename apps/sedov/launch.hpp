// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "physics/loop.hpp"

namespace sedov {

/// Submits a kernel of the physics over its own range to a stream or a sequence.
template <class Queue, class Kernel>
void submit(Queue& queue, const Kernel& kernel) {
  const extent r = kernel.range();
  queue.submit({r.x, r.y, r.z}, kernel);
}

/// Whether kernels are ordinary code of this processor, with its caches and its memory.
[[nodiscard]] inline bool on_processor(const starling::device& where) noexcept {
  const starling::backend_kind kind = where.backend();
  return kind == starling::backend_kind::host ||
         (kind == starling::backend_kind::kokkos && where.properties().bus_id.empty());
}

/// Lanes of the vectors with which a device runs kernels: what `make_stage` is to know.
[[nodiscard]] inline int lanes_of(const starling::device& where) noexcept {
  return on_processor(where) ? int(host_vector::size()) : 1;
}

}  // namespace sedov
