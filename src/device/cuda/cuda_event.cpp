// SPDX-License-Identifier: Apache-2.0
#include "cuda_event.hpp"

#include <mutex>

#include "cuda_error.hpp"

namespace starling::detail {

cuda_event_pool::~cuda_event_pool() {
  // Ignored: this call fails only on a lost device, whose error was reported before.
  for (const cudaEvent_t e : m_free) static_cast<void>(cudaEventDestroy(e));
  forget_cuda_error();
}

cudaEvent_t cuda_event_pool::take() {
  {
    std::lock_guard lock(m_lock);
    if (!m_free.empty()) {
      const cudaEvent_t e = m_free.back();
      m_free.pop_back();
      return e;
    }
  }
  make_current(m_device);
  cudaEvent_t e = nullptr;
  const unsigned flags = m_timing == timing::enabled ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&e, flags), "cudaEventCreateWithFlags");
  return e;
}

void cuda_event_pool::give_back(cudaEvent_t e) noexcept {
  try {
    std::lock_guard lock(m_lock);
    m_free.push_back(e);
  } catch (...) {  // no memory to keep the event
    static_cast<void>(cudaEventDestroy(e));
  }
}

bool cuda_event::is_complete() {
  const outside_capture here;
  const cudaError_t result = cudaEventQuery(m_event);
  if (result != cudaErrorNotReady) {
    check(result, "cudaEventQuery");
    return true;
  }
  forget_cuda_error();
  return false;
}

double cuda_event::nanoseconds_since(backend_event& earlier) {
  const outside_capture here;
  float ms = 0;
  check(cudaEventElapsedTime(&ms, static_cast<cuda_event&>(earlier).native(), m_event),
        "cudaEventElapsedTime");
  return double(ms) * 1e6;
}

}  // namespace starling::detail
