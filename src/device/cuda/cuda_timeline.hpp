// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <starling/core/trace.hpp>

namespace starling::detail {

/// Writes spans of kernels, copies and fills to the timeline, timed by the devices, with NVIDIA's
/// profiling library CUPTI. CUPTI allows one user in a process, so only one runtime at a time has a
/// timeline.
class cuda_timeline {
 public:
  virtual ~cuda_timeline() = default;  ///< stores the last spans; all work must be over
};

/// Begins to store spans to `sink`. Called before the first CUDA call that the timeline is to
/// contain. Returns null, with a message on stderr, when CUPTI is missing or has another user;
/// launches are then only counted.
[[nodiscard]] std::unique_ptr<cuda_timeline> begin_cuda_timeline(tracer& sink);

/// Returns the name of a launch in the timeline. For the mangled symbol of a portable kernel this
/// is the kernel's type, `jacobi3d::update`; else the function without result and arguments.
[[nodiscard]] std::string readable_kernel(const char* symbol);

}  // namespace starling::detail
