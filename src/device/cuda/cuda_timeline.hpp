// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <starling/core/trace.hpp>

namespace starling::detail {

/// Spans of kernels, copies and fills in the timeline, as the devices timed them, from NVIDIA's
/// profiling library CUPTI. That serves a process, so one runtime at a time has a timeline.
class cuda_timeline {
 public:
  virtual ~cuda_timeline() = default;  ///< all work must be over; its last spans are stored now
};

/// Begins to store spans to `sink`, before the first CUDA call of interest. Null where CUPTI is not
/// to be had or used otherwise, which is told on stderr: launches are counted then, as without it.
[[nodiscard]] std::unique_ptr<cuda_timeline> begin_cuda_timeline(tracer& sink);

/// What a launch is called there: of a portable kernel's mangled symbol the kernel's type,
/// `jacobi3d::update`; of others the function without result and arguments.
[[nodiscard]] std::string readable_kernel(const char* symbol);

}  // namespace starling::detail
