// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include <starling/core/error.hpp>

namespace starling::detail {

/// The lock that orders the submissions to a stream. Driver calls are made under it, and user code
/// runs under it in a capture: the capturing thread holds it for the whole capture and therefore
/// does not lock it again.
class submit_lock : public std::mutex {
 public:
  [[nodiscard]] bool is_capturing() const noexcept {  // whether the calling thread captures
    return m_capturer.load(std::memory_order_relaxed) == thread_token();
  }
  // Called by the holder:
  void begin_capture() noexcept { m_capturer.store(thread_token(), std::memory_order_relaxed); }
  void end_capture() noexcept { m_capturer.store(nullptr, std::memory_order_relaxed); }

 private:
  /// Returns an address that is unique to the calling thread.
  [[nodiscard]] static const void* thread_token() noexcept {
    static thread_local const char token = 0;
    return &token;
  }

  // Token of the capturing thread. Relaxed: no other thread reads its own token.
  std::atomic<const void*> m_capturer{nullptr};
};

/// Holds a stream's submit lock in its scope. If the calling thread is capturing, it holds the lock
/// already, and only `captured()` is set.
class submission {
 public:
  explicit submission(submit_lock& order, const char* call_outside_captures = nullptr)
      : m_order(order), m_captured(order.is_capturing()) {
    if (!m_captured)
      m_order.lock();
    else if (call_outside_captures != nullptr)
      throw usage_error(std::string("stream::") + call_outside_captures +
                        " inside capture: a graph holds kernels, copies and fills only");
  }
  ~submission() {
    if (!m_captured) m_order.unlock();
  }
  submission(const submission&) = delete;
  submission& operator=(const submission&) = delete;
  [[nodiscard]] bool captured() const noexcept { return m_captured; }

 private:
  submit_lock& m_order;
  bool m_captured;
};

}  // namespace starling::detail
