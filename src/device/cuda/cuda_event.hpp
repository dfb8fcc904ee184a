// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include <starling/core/detail/spin_lock.hpp>

#include "../backend.hpp"

namespace starling::detail {

/// Relaxes the capture mode of the calling thread in its scope: a thread that captures may then
/// make driver queries that do not concern the capture.
class outside_capture {
 public:
  outside_capture() noexcept { swap(); }
  ~outside_capture() { swap(); }
  outside_capture(const outside_capture&) = delete;
  outside_capture& operator=(const outside_capture&) = delete;

 private:
  void swap() noexcept { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&m_mode)); }
  cudaStreamCaptureMode m_mode = cudaStreamCaptureModeRelaxed;
};

/// Recycled events of one device: creating an event takes the driver microseconds. Recording is
/// cheaper for events that are not timed. Thread-safe. The pool exists as long as its events.
class cuda_event_pool {
 public:
  enum class timing { disabled, enabled };
  cuda_event_pool(int device, timing how) noexcept : m_device(device), m_timing(how) {}
  ~cuda_event_pool();
  cuda_event_pool(const cuda_event_pool&) = delete;
  cuda_event_pool& operator=(const cuda_event_pool&) = delete;

  /// @throws device_error
  [[nodiscard]] cudaEvent_t take();
  /// Takes an event back. Recorded work and waits for the event may be pending: CUDA keeps the
  /// state that it needs.
  void give_back(cudaEvent_t e) noexcept;

 private:
  int m_device;
  timing m_timing;
  spin_lock m_lock;
  std::vector<cudaEvent_t> m_free;
};

class cuda_event final : public backend_event {
 public:
  explicit cuda_event(std::shared_ptr<cuda_event_pool> pool)
      : m_pool(std::move(pool)), m_event(m_pool->take()) {}
  ~cuda_event() override { m_pool->give_back(m_event); }

  [[nodiscard]] backend_kind kind() const noexcept override { return backend_kind::cuda; }
  [[nodiscard]] bool is_complete() override;
  [[nodiscard]] double nanoseconds_since(backend_event& earlier) override;
  [[nodiscard]] cudaEvent_t native() const noexcept { return m_event; }

 private:
  std::shared_ptr<cuda_event_pool> m_pool;
  cudaEvent_t m_event;
};

}  // namespace starling::detail
