// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <new>
#include <utility>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// A coroutine that serves one object for the object's lifetime: runs the pending work, then parks
/// until it is scheduled again. Its frame is not pooled, so the hang diagnosis does not list it.
class strand {
 public:
  struct promise_type final : promise_base {
    strand get_return_object(const call_location& declared = {}) noexcept {
      created = declared;
      return strand(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }  // strands throw nothing
    static void* operator new(std::size_t size) { return ::operator new(size); }
    static void operator delete(void* frame) noexcept { ::operator delete(frame); }
  };

  strand() noexcept = default;
  strand(strand&& other) noexcept : m_frame(std::exchange(other.m_frame, nullptr)) {}
  strand& operator=(strand&& other) noexcept {
    std::swap(m_frame, other.m_frame);
    return *this;
  }
  ~strand() {
    if (m_frame) m_frame.destroy();
  }
  [[nodiscard]] promise_base& promise() const noexcept { return m_frame.promise(); }

  /// Sets the home worker and the priority. Called before the strand is first scheduled; see
  /// promise_base.
  void settle(worker& home, starling::priority priority) noexcept {
    promise().home = &home;
    promise().priority = priority;
  }

 private:
  explicit strand(std::coroutine_handle<promise_type> frame) noexcept : m_frame(frame) {}
  std::coroutine_handle<promise_type> m_frame;
};

}  // namespace starling::detail
