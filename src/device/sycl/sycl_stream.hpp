// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sycl/sycl.hpp>

#include <starling/device/interop/sycl/async_errors.hpp>

#include "../backend.hpp"
#include "sycl_arguments.hpp"
#include "sycl_compiler.hpp"
#include "sycl_report.hpp"

namespace starling::detail {

/// State shared by the streams of a device.
struct sycl_resources {
  ::sycl::context context;
  ::sycl::device device;
  worker* home;
  bool reaches_pageable;        // kernels and fills may access any memory of the process
  ::sycl::range<3> most_items;  // of a work-group, in each direction
  sycl_compiler compiler;
};

class sycl_stream;

/// Operations with their arguments, submitted to the queue one by one at each launch. (SYCL's own
/// graphs save no time on the CPU device, see docs/guide/sycl.md.)
class sycl_graph final : public backend_graph {
 public:
  [[nodiscard]] std::size_t size() const noexcept override { return operations.size(); }
  std::vector<std::function<void(sycl_stream&)>> operations;
};

/// An in-order SYCL queue.
///
/// Asynchronous errors come from work that users submit to the queue themselves (a `host_task` that
/// throws). A stretch with possible foreign work ends with a host task that fetches these errors
/// and reports them as the stretch's failure. Other stretches have no such cost.
class sycl_stream final : public backend_stream {
 public:
  /// `errors` is the asynchronous error handler of `work`.
  sycl_stream(sycl_resources& shared, ::sycl::queue work, starling::sycl::async_errors errors);

  void launch(const kernel_call& call) override;
  void copy(std::span<const transfer> transfers, member_observer* observer) override;
  void fill(void* dst, const void* value, std::size_t element, std::size_t count) override;

  void record(const std::shared_ptr<backend_event>& point) override;
  void wait(const std::shared_ptr<backend_event>& point, dependency what) override;
  void wait_native(void* event) override;

  void mark(const completion_mark& request) override;
  void synchronize() override;

  void begin_capture() override { m_capture = std::make_shared<sycl_graph>(); }
  [[nodiscard]] std::shared_ptr<backend_graph> end_capture() override {
    return std::exchange(m_capture, nullptr);
  }
  void launch_graph(const std::shared_ptr<backend_graph>& recording) override;

  [[nodiscard]] bool is_idle() override;
  [[nodiscard]] std::exception_ptr query_error() noexcept override;
  /// A `sycl::queue*`, valid as long as the stream.
  [[nodiscard]] void* native() const noexcept override { return &m_queue; }

  /// Compiles the kernel if needed and submits the call. @throws device_error, usage_error
  void start(const starling::sycl::detail::kernel_source& source, const kernel_call& call);

 private:
  struct launch_shape;
  void submit(const launch_shape& shape, const void* objects);
  void fill_by_copies(void* dst, const void* value, std::size_t element, std::size_t bytes);
  void wait_until(::sycl::event& point, dependency what);
  void report_at_end_of_batch(const completion_mark& request);

  sycl_resources* m_shared;
  mutable ::sycl::queue m_queue;
  ::sycl::queue m_teller;
  starling::sycl::async_errors m_errors;
  sycl_arguments m_arguments;
  std::shared_ptr<sycl_graph> m_capture;  // accessed by the submitter only
};

}  // namespace starling::detail
