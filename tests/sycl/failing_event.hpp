// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <starling/device/interop/sycl.hpp>

namespace starling::sycl {

/// An event that fails on request, as events of a failing device do: one of OpenCL's user events,
/// in the context of `work`. All its waiters must have been notified before it is destroyed.
class failing_event {
 public:
  explicit failing_event(const ::sycl::queue& work)
      : m_context(work.get_context()),
        m_native(create(::sycl::get_native<::sycl::backend::opencl>(m_context))),
        m_event(::sycl::make_event<::sycl::backend::opencl>({m_native}, m_context)) {}
  ~failing_event() { fail(); }
  failing_event(const failing_event&) = delete;
  failing_event& operator=(const failing_event&) = delete;

  [[nodiscard]] const ::sycl::event& get() const noexcept { return m_event; }
  void fail() {
    if (m_failed) return;
    m_failed = true;
    constexpr std::int32_t out_of_resources = -5;
    function<std::int32_t (*)(cl_event, std::int32_t)>("clSetUserEventStatus")(m_native,
                                                                               out_of_resources);
  }

 private:
  /// The loader is part of the process if the device is an OpenCL device.
  template <class F>
  static F function(const char* name) {
    void* const found = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), name);
    if (found == nullptr) throw std::runtime_error(std::string("OpenCL has no ") + name);
    return reinterpret_cast<F>(found);
  }
  static cl_event create(cl_context where) {
    return function<cl_event (*)(cl_context, std::int32_t*)>("clCreateUserEvent")(where, nullptr);
  }

  ::sycl::context m_context;
  cl_event m_native;
  ::sycl::event m_event;
  bool m_failed = false;
};

}  // namespace starling::sycl
