// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "common/submit.hpp"
#include "kernel/loop.hpp"

namespace stars {

/// Submits a kernel of the physics over its own range to a stream or a sequence.
template <class Queue, class Kernel>
void submit(Queue& queue, const Kernel& kernel) {
  const extent r = kernel.range();
  queue.submit({r.x, r.y, r.z}, kernel);
}

using apps::on_processor;

/// Returns the vector lanes with which a device runs kernels, as `make_stage` needs them.
[[nodiscard]] inline int lanes_of(const starling::device& where) noexcept {
  return on_processor(where) ? int(host_vector::size()) : 1;
}

}  // namespace stars
