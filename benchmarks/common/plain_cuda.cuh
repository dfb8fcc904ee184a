// SPDX-License-Identifier: Apache-2.0
//
// Resources and checks of benchmark programs that use CUDA alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>

namespace starling::bench {

/// Checks a result of CUDA. @throws std::runtime_error that names call, place and CUDA's message
inline void check(cudaError_t code, const char* call,
                  const std::source_location& where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(where.file_name()) + ':' + std::to_string(where.line()) +
                           ": " + call + ": " + cudaGetErrorString(code) + " (" +
                           cudaGetErrorName(code) + ')');
}

struct free_device {
  void operator()(void* p) const noexcept { cudaFree(p); }
};
struct free_pinned {
  void operator()(void* p) const noexcept { cudaFreeHost(p); }
};
template <class T>
using device_array = std::unique_ptr<T[], free_device>;
template <class T>
using pinned_array = std::unique_ptr<T[], free_pinned>;

/// Allocates memory of the current device.
template <class T>
device_array<T> on_device(std::int64_t size) {
  void* p = nullptr;
  check(cudaMalloc(&p, static_cast<std::size_t>(size) * sizeof(T)), "cudaMalloc");
  return device_array<T>(static_cast<T*>(p));
}
/// Allocates pinned host memory that all devices can access.
template <class T>
pinned_array<T> on_host(std::int64_t size) {
  void* p = nullptr;
  check(cudaHostAlloc(&p, static_cast<std::size_t>(size) * sizeof(T), cudaHostAllocPortable),
        "cudaHostAlloc");
  return pinned_array<T>(static_cast<T*>(p));
}

class stream {
 public:
  explicit stream(int priority) {
    check(cudaStreamCreateWithPriority(&m_handle, cudaStreamNonBlocking, priority),
          "cudaStreamCreateWithPriority");
  }
  ~stream() { cudaStreamDestroy(m_handle); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return m_handle; }

 private:
  cudaStream_t m_handle = nullptr;
};

/// An event that makes one stream wait for another stream.
class event {
 public:
  event() {
    check(cudaEventCreateWithFlags(&m_handle, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  ~event() { cudaEventDestroy(m_handle); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  /// Makes later work of `waiting` start after the work submitted to `working` so far.
  void order(const stream& working, const stream& waiting) const {
    check(cudaEventRecord(m_handle, working.get()), "cudaEventRecord");
    check(cudaStreamWaitEvent(waiting.get(), m_handle, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t m_handle = nullptr;
};

}  // namespace starling::bench
