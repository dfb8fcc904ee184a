// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/trace.hpp>

#include "../backend.hpp"

namespace starling::detail {

class host_stream;

/// A point of a host stream, passed once. Holds a list of the strands of streams that wait for it.
class host_event final : public backend_event {
 public:
  explicit host_event(bool is_timed = false) noexcept : m_is_timed(is_timed) {}

  [[nodiscard]] backend_kind kind() const noexcept override { return backend_kind::host; }

  [[nodiscard]] bool is_complete() override {
    if (!has_passed()) return false;
    if (m_error) std::rethrow_exception(m_error);
    return true;
  }

  [[nodiscard]] double nanoseconds_since(backend_event& earlier) override {
    return double(std::int64_t(m_passed_ns - static_cast<host_event&>(earlier).m_passed_ns));
  }

  /// Acquire pairs with pass(): the recorded work and the error are visible.
  [[nodiscard]] bool has_passed() const noexcept {
    return m_passed.load(std::memory_order_acquire);
  }
  /// The error of the work before the point, or null. Valid once the event is passed.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_error; }

  /// Sets the stream that will pass the event. Called when the record or mark is submitted.
  void assign(host_stream& recorder) noexcept { m_recorder = &recorder; }
  [[nodiscard]] host_stream* recorder() const noexcept { return m_recorder; }

  /// Adds a strand that is scheduled when the event is passed. Returns false when the event is
  /// passed already.
  [[nodiscard]] bool subscribe(promise_base& strand) noexcept {
    std::lock_guard lock(m_lock);
    if (m_passed.load(std::memory_order_relaxed)) return false;
    m_waiting.push(strand);
    return true;
  }

  /// Passes the event. Called once, by the thread that runs the stream's operations.
  void pass(const std::exception_ptr& error) noexcept {
    m_error = error;
    if (m_is_timed) m_passed_ns = tracer::now();
    {
      std::lock_guard lock(m_lock);
      m_passed.store(true, std::memory_order_release);
    }
    // No strand is added to the list any more.
    while (promise_base* strand = m_waiting.pop()) schedule(*strand);
  }

 private:
  bool m_is_timed;
  std::uint64_t m_passed_ns = 0;      // written before m_passed
  std::atomic<bool> m_passed{false};  // false → true once, under the lock
  spin_lock m_lock;
  ready_list m_waiting;
  std::exception_ptr m_error;
  host_stream* m_recorder = nullptr;
};

}  // namespace starling::detail
