// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/device/detail/completion.hpp>

#include "stream_marks.hpp"

namespace starling::detail {

/// Failures of a stream's stretches. Each failure is kept until it is stale: the users of the
/// stretch have released their handles and no waiter can get the failure any more.
class stream_failures {
 public:
  struct record {
    // First failed stretch; a record is for several only if memory was exhausted.
    std::uint64_t first;
    std::uint64_t sequence;  // last failed stretch of this record
    std::exception_ptr error;
    bool observed;
  };

  /// Allocates in advance, so that a failure can always be recorded.
  void open() { m_records.reserve(32); }
  [[nodiscard]] bool empty() const noexcept { return m_records.empty(); }
  void add(std::uint64_t sequence, std::exception_ptr error) noexcept;
  /// Returns the error that concerns `node`; null without one.
  [[nodiscard]] std::exception_ptr deliver(const completion_node& node) noexcept;
  /// Moves a stale record to `found`. `released`: all users of stretches up to this mark have
  /// released their handles. Returns false without one.
  [[nodiscard]] bool take_stale(const completion_node* waiters, std::uint64_t released,
                                record& found) noexcept;

 private:
  std::vector<record> m_records;
};

/// The waiters for the marks of a stream, and the errors that they get. A waiter is removed from
/// the list once: when it is completed, possibly with an error, or when it is withdrawn. A failure
/// is delivered to a waiter or reported.
///
/// A spin lock, the wait lock, guards all members; a driver's thread takes it too. No driver call
/// is made and no user code runs under it. A refused allocation stops neither a completion nor the
/// record of a failure.
class stream_waiters {
 public:
  enum class entry { over, linked, to_watch };

  explicit stream_waiters(const stream_context& context) noexcept : m_context(&context) {}
  void open() { m_failures.open(); }

  /// Adds a waiter for `mark`, unless its work is over already or the device is lost. `to_watch`:
  /// the poller must watch the stream from now on.
  [[nodiscard]] entry add(completion_node& node, std::uint64_t mark,
                          const stream_marks& marks) noexcept;
  [[nodiscard]] bool withdraw(completion_node& node) noexcept;
  /// Completes the waiters of marks up to `mark`, of a lost device all: notifies them, outside the
  /// lock, and reports stale failures. A node may be destroyed as soon as its waiter is notified.
  /// Returns whether there was such a waiter. Waiters are counted until they are notified.
  bool complete(std::uint64_t mark) noexcept;
  /// As `complete`, for the poller: pushes coroutines to `ready`, counts the waiters down before
  /// they are notified, and returns whether the stream must still be watched.
  [[nodiscard]] bool collect(std::uint64_t mark, ready_list& ready) noexcept;
  [[nodiscard]] std::size_t count() const noexcept {
    return m_count.load(std::memory_order_relaxed);
  }

  void fail(std::uint64_t mark, std::exception_ptr error) noexcept;
  /// Records that all users of stretches up to `mark` have released their handles.
  void release(std::uint64_t mark) noexcept;
  /// Removes stale failures and reports those that no waiter has received.
  void report_stale() noexcept;

  /// Records the error of a lost device; null: none.
  void lose(std::exception_ptr error) noexcept;
  [[nodiscard]] std::exception_ptr loss() noexcept;
  /// Returns whether to query the device for an error, at most once in each stall time.
  [[nodiscard]] bool is_query_due(std::uint64_t now_ns) noexcept;

 private:
  struct completed;
  void link(completion_node& node) noexcept;
  void set_count(std::size_t count) noexcept { m_count.store(count, std::memory_order_relaxed); }
  [[nodiscard]] std::exception_ptr error_for(const completion_node& node) noexcept;
  void take(std::uint64_t mark, completed& done) noexcept;
  void deliver(const completed& done, ready_list* ready) noexcept;

  const stream_context* m_context;
  spin_lock m_wait_lock;
  completion_node* m_head = nullptr;  // in order of marks
  completion_node* m_tail = nullptr;
  std::atomic<std::size_t> m_count{0};  // read without the lock
  bool m_watched = false;               // whether the stream is in the poller's lists
  stream_failures m_failures;
  std::uint64_t m_released = 0;
  std::exception_ptr m_loss;
  std::uint64_t m_asked_ns = 0;  // when a query was due last
};

}  // namespace starling::detail
