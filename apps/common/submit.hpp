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

/// Whether kernels run on processors, one thread a group, and not on a GPU.
inline bool on_processor(const starling::device& where) {
  return where.backend() == starling::backend_kind::host || where.properties().bus_id.empty();
}

}  // namespace apps
