// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>

#include <starling/core/detail/spin_lock.hpp>

#include "backend.hpp"

namespace starling::detail {

class completion_poller;
class device_times;

/// State shared by the streams of a device.
struct stream_context {
  device* owner;
  completion_poller* poller;
  worker* home;
  starling::tracer* tracer;
  backend_traits traits;
  completion_kind completion;
  std::size_t most_scratch;       // most scratch bytes of a group
  device_times* times = nullptr;  // of the work of elements; null: not measured
  bool barriers = false;          // redundant barriers between operations, for comparison
  // Whether the error of a lost device was delivered to a user. Read when streams are destroyed.
  mutable std::atomic<bool> loss_told{false};
};

/// When a mark is requested. `now`: at once. `lazy`: later, by the poller once the previous mark is
/// passed, or before the next operation other than `pull`. `overdue`: by the poller, for an earlier
/// lazy request.
enum class urgency { now, lazy, overdue };

/// The code that may submit to a stream's queue. `own`: Starling only. `foreign_for_a_loan`: also
/// other code, until the stream's handles are released. `foreign`: also other code, for ever,
/// because that code made the queue.
enum class submitters { own, foreign_for_a_loan, foreign };

/// The marks of a stream, which number the requests for completion; a stretch is the work between
/// two marks. Numbers only increase, and no mark is passed before it is requested.
class stream_marks {
 public:
  stream_marks(const stream_context& context, completion_listener& listener, completion_word& word)
      : m_context(&context), m_listener(&listener), m_word(&word) {}

  // Called under the submit lock:
  /// Marks the work after the last mark, if any. Returns the mark that completes all work.
  std::uint64_t request(urgency when, backend_stream& queue);
  void note_work() noexcept { m_dirty = true; }
  void note_submitters(submitters who) noexcept { m_submitters = std::max(m_submitters, who); }
  void end_loan() noexcept {
    if (m_submitters == submitters::foreign_for_a_loan) m_submitters = submitters::own;
  }
  [[nodiscard]] bool is_foreign() const noexcept { return m_submitters != submitters::own; }
  [[nodiscard]] bool is_adopted() const noexcept { return m_submitters == submitters::foreign; }
  /// Returns whether there may be work after the last mark.
  [[nodiscard]] bool has_work() const noexcept { return m_dirty || is_foreign(); }
  void drop_delay() noexcept { m_is_delayed.store(false, std::memory_order_relaxed); }

  // Any thread:
  /// Returns the last requested mark. A stale value is harmless.
  [[nodiscard]] std::uint64_t last() const noexcept {
    return m_last.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t passed() const noexcept {
    // Acquire: makes the writes of the work before the mark visible.
    return m_word->load(std::memory_order_acquire);
  }
  void pass(std::uint64_t mark) noexcept { m_word->store(mark, std::memory_order_release); }
  [[nodiscard]] bool is_delayed() const noexcept {
    return m_is_delayed.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_overdue() const noexcept { return is_delayed() && passed() >= last(); }
  /// Returns whether an event mark may not be passed yet, so that events must be queried.
  [[nodiscard]] bool has_events() const noexcept {
    return passed() < m_last_event.load(std::memory_order_relaxed);
  }
  /// Queries the oldest events and passes their marks. Returns the error of a lost device.
  [[nodiscard]] std::exception_ptr query_events() noexcept;

 private:
  struct pending_event {
    std::uint64_t mark;
    std::shared_ptr<backend_event> point;
  };

  [[nodiscard]] bool may_delay() const noexcept;
  [[nodiscard]] completion_kind kind_of(urgency when) const noexcept;

  const stream_context* m_context;
  completion_listener* m_listener;
  completion_word* m_word;  // number of the last mark passed; stored by the device or by pass()

  // Written under the submit lock:
  bool m_dirty = false;  // work was submitted after the last mark
  submitters m_submitters = submitters::own;
  std::atomic<bool> m_is_delayed{false};  // a lazy waiter needs the next mark; implies m_dirty
  std::uint64_t m_last_foreign = 0;       // the last mark that was requested as foreign
  std::atomic<std::uint64_t> m_last{0};
  std::atomic<std::uint64_t> m_last_event{0};  // the last requested mark that is an event

  spin_lock m_event_lock;  // guards m_events; not held during driver calls
  // Events of marks that are not known to be passed, oldest first.
  std::list<pending_event> m_events;
};

}  // namespace starling::detail
