// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/error.hpp>

#include "stream_state.hpp"

namespace starling::detail {

/// Returns an address that is unique to the calling thread.
[[nodiscard]] inline const void* thread_token() noexcept {
  static thread_local const char token = 0;
  return &token;
}

/// Holds a stream's submit lock in its scope. If the calling thread is capturing, it holds the lock
/// already, and only `captured()` is set.
class submission {
 public:
  submission(stream_state& s, const char* call_outside_captures = nullptr)
      : m_stream(s), m_captured(s.m_capturer.load(std::memory_order_relaxed) == thread_token()) {
    if (!m_captured)
      m_stream.m_submit_lock.lock();
    else if (call_outside_captures != nullptr)
      throw usage_error(std::string("stream::") + call_outside_captures +
                        " inside capture: a graph holds kernels, copies and fills only");
  }
  ~submission() {
    if (!m_captured) m_stream.m_submit_lock.unlock();
  }
  submission(const submission&) = delete;
  submission& operator=(const submission&) = delete;
  [[nodiscard]] bool captured() const noexcept { return m_captured; }

 private:
  stream_state& m_stream;
  bool m_captured;
};

}  // namespace starling::detail
