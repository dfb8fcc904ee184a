// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <shared_mutex>
#include <unordered_map>

#include <sycl/sycl.hpp>

#include <starling/core/trace.hpp>
#include <starling/device/interop/sycl_kernels.hpp>

namespace starling::detail {

/// A kernel compiled for a device.
struct compiled_kernel {
  ::sycl::kernel code;
  int most_threads;  // of one work-group
};

/// Compiles the kernels of one device: all kernels of a file at the first request for one of them.
/// Files compiled by an earlier runtime of this process are not compiled again. Thread-safe.
class sycl_compiler {
 public:
  sycl_compiler(::sycl::context where, ::sycl::device device, tracer& log)
      : m_context(std::move(where)), m_device(std::move(device)), m_log(&log) {}

  /// Returns a compiled kernel, valid as long as this object. @throws device_error with the
  /// compiler's messages; usage_error when a kernel of the file cannot be named
  [[nodiscard]] const compiled_kernel& find(const starling::sycl::detail::kernel_source& source);

 private:
  [[nodiscard]] compiled_kernel make(const starling::sycl::detail::kernel_source& source);

  ::sycl::context m_context;
  ::sycl::device m_device;
  tracer* m_log;
  std::shared_mutex m_lock;
  std::unordered_map<const starling::sycl::detail::kernel_source*, compiled_kernel> m_known;
};

}  // namespace starling::detail
