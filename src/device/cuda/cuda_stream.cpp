// SPDX-License-Identifier: Apache-2.0
#include "cuda_stream.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "cuda_copy.hpp"
#include "cuda_driver.hpp"
#include "cuda_error.hpp"

namespace starling::detail {

namespace {

cudaEvent_t native_of(const std::shared_ptr<backend_event>& point) noexcept {
  return static_cast<cuda_event&>(*point).native();
}

/// Returns the byte that the whole value repeats, or −1.
int repeated_byte(const void* value, std::size_t element) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(value);
  const bool same = std::all_of(bytes, bytes + element, [&](auto b) { return b == bytes[0]; });
  return same ? bytes[0] : -1;
}

/// A fill of memory that the device does not reach. The driver's host thread runs it in the order
/// of the stream.
struct host_fill {
  unsigned char* memory;
  unsigned char value[16];
  std::size_t element;
  std::size_t count;

  static void run(void* request) noexcept {
    const std::unique_ptr<host_fill> self(static_cast<host_fill*>(request));
    for (std::size_t i = 0; i < self->count; ++i)
      std::memcpy(self->memory + i * self->element, self->value, self->element);
  }
};

bool is_pageable(const void* memory) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
  return found.type == cudaMemoryTypeUnregistered;
}

}  // namespace

cuda_stream::~cuda_stream() {
  if (m_owner == ownership::owned && cudaStreamDestroy(m_stream) != cudaSuccess)
    forget_cuda_error();
}

void cuda_stream::launch(const kernel_call& call) {
  const device_launcher launcher = call.entry->launcher(backend_kind::cuda);
  if (launcher == nullptr) throw usage_error(missing_launcher(*call.entry, backend_kind::cuda));
  make_current(m_shared->device);
  const auto result = static_cast<cudaError_t>(launcher(call, m_stream));
  if (result != cudaSuccess) [[unlikely]]
    check(result, (std::string("launch of kernel ") + call.entry->name()).c_str());
}

void cuda_stream::copy(std::span<const transfer> transfers, member_observer*) {
  make_current(m_shared->device);
  queue_copies(m_stream, transfers, m_owner == ownership::owned && !m_capturing);
}

void cuda_stream::fill(void* dst, const void* value, std::size_t element, std::size_t count) {
  make_current(m_shared->device);
  if (is_pageable(dst)) return fill_on_host(dst, value, element, count);
  if (const int byte = repeated_byte(value, element); byte >= 0)
    check(cudaMemsetAsync(dst, byte, element * count, m_stream), "cudaMemsetAsync");
  else
    check(launch_fill(m_stream, dst, value, element, count), "launch of the fill kernel");
}

void cuda_stream::fill_on_host(void* dst, const void* value, std::size_t element,
                               std::size_t count) {
  if (m_capturing)
    throw usage_error(
        "stream::fill of pageable host memory inside capture: the device does not reach it; use a "
        "pinned buffer");
  auto request =
      std::make_unique<host_fill>(host_fill{static_cast<unsigned char*>(dst), {}, element, count});
  std::memcpy(request->value, value, element);
  check(cudaLaunchHostFunc(m_stream, &host_fill::run, request.get()), "cudaLaunchHostFunc");
  static_cast<void>(request.release());  // run() owns the request from here on
}

void cuda_stream::record(const std::shared_ptr<backend_event>& point) {
  make_current(m_shared->device);
  check(cudaEventRecord(native_of(point), m_stream), "cudaEventRecord");
}

void cuda_stream::wait(const std::shared_ptr<backend_event>& point, dependency) {
  wait_native(native_of(point));
}

void cuda_stream::wait_native(void* event) {
  make_current(m_shared->device);
  check(cudaStreamWaitEvent(m_stream, static_cast<cudaEvent_t>(event), cudaEventWaitDefault),
        "cudaStreamWaitEvent");
}

void cuda_stream::mark(const completion_mark& request) {
  make_current(m_shared->device);
  m_word = request.word;
  m_marked.store(request.sequence, std::memory_order_release);
  if (request.how == completion_kind::event) return record(request.point);
  if (request.how == completion_kind::callback)
    return check(
        cudaLaunchHostFunc(m_stream, &completion_listener::on_host_function, request.listener),
        "cudaLaunchHostFunc");
  store_word(m_stream, request.word, request.sequence, m_shared->words);
}

bool cuda_stream::is_unused() const noexcept {
  const std::uint64_t marked = m_marked.load(std::memory_order_acquire);
  return marked == 0 || m_word->load(std::memory_order_acquire) >= marked;
}

void cuda_stream::synchronize() {
  // The owner may have destroyed the stream after its last mark was passed.
  if (m_owner == ownership::adopted && is_unused()) return;
  make_current(m_shared->device);
  const cuda_event end(m_shared->events);
  {
    const std::lock_guard lock(m_capture_lock);
    check(cudaEventRecord(end.native(), m_stream), "cudaEventRecord");
  }
  check(cudaEventSynchronize(end.native()), "cudaEventSynchronize");
}

void cuda_stream::begin_capture() {
  make_current(m_shared->device);
  m_capture_lock.lock();
  // ThreadLocal: other threads may allocate and query during the capture.
  const cudaError_t result = cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal);
  if (result != cudaSuccess) m_capture_lock.unlock();
  check(result, "cudaStreamBeginCapture");
  m_capturing = true;
}

std::shared_ptr<backend_graph> cuda_stream::end_capture() {
  cudaGraph_t recording = nullptr;
  const cudaError_t result = cudaStreamEndCapture(m_stream, &recording);
  m_capturing = false;
  m_capture_lock.unlock();
  check(result, "cudaStreamEndCapture");
  return std::make_shared<cuda_graph>(recording, m_shared->graphs);
}

void cuda_stream::launch_graph(const std::shared_ptr<backend_graph>& recording) {
  make_current(m_shared->device);
  static_cast<cuda_graph&>(*recording).launch(m_stream);
}

bool cuda_stream::is_idle() {
  const outside_capture here;
  const cudaError_t result = cudaStreamQuery(m_stream);
  if (result == cudaErrorNotReady) {
    forget_cuda_error();
    return false;
  }
  check(result, "cudaStreamQuery");
  return true;
}

std::exception_ptr cuda_stream::query_error() noexcept {
  const std::unique_lock lock(m_capture_lock, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;  // a capture is under way; queried again later
  const outside_capture here;
  const cudaError_t result = cudaStreamQuery(m_stream);
  if (result == cudaSuccess) return nullptr;
  if (result != cudaErrorNotReady) return make_cuda_error(result, "cudaStreamQuery");
  forget_cuda_error();
  return nullptr;
}

void* cuda_stream::native() const noexcept {
  if (cudaSetDevice(m_shared->device) != cudaSuccess) forget_cuda_error();
  return m_stream;
}

}  // namespace starling::detail
