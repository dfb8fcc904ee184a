// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "device_times.hpp"
#include "stream_marks.hpp"
#include "stream_waiters.hpp"
#include "submission.hpp"

namespace starling::detail {

/// A stream: the backend's queue and the waiters for its completion. Made once, recycled when its
/// last handle is released, destroyed with the device. Marks, waiters and allocators may therefore
/// point to it without owning it.
///
/// There are two locks, because a poll or a driver's thread must not wait for a driver call. The
/// submit lock guards the queue, the requests of marks and the record of a capture; a poll only
/// tries it. The wait lock guards the waiters and their errors, is never held during a driver call
/// and may be taken under the submit lock. (A third, innermost one guards the list of pending
/// events of stream_marks.)
class stream_state final : public completion_listener {
 public:
  stream_state(const stream_context& context, stream_id id, starling::priority priority,
               completion_word& word, const backend_partition* partition = nullptr);
  ~stream_state();
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  /// Called once, before use. `adopted`: other code submits to the queue, too, so every request for
  /// completion needs a new mark.
  void open(std::unique_ptr<backend_stream> queue, bool adopted);

  [[nodiscard]] const stream_context& context() const noexcept { return *m_context; }
  [[nodiscard]] stream_id id() const noexcept { return m_id; }
  [[nodiscard]] starling::priority priority() const noexcept { return m_priority; }
  [[nodiscard]] const backend_partition* partition() const noexcept {
    return m_partition;
  }  // of the device

  // --- handles
  void borrow() noexcept { m_borrowers.fetch_add(1, std::memory_order_relaxed); }
  /// Releases a handle. After the last release the device recycles the stream.
  void give_back() noexcept;
  /// Returns the number of handles, including the handle of the pool or device that keeps the
  /// stream.
  [[nodiscard]] int borrowers() const noexcept {
    return m_borrowers.load(std::memory_order_relaxed);
  }

  // --- submissions, each one step in the stream's order. The device time is charged to the element
  // that the calling worker runs, of batches to `members`.
  void launch(const kernel_call& call, const charged_accounts* members = nullptr);
  void copy(std::span<const transfer> transfers, member_observer* observer = nullptr,
            const charged_accounts* members = nullptr);
  void pull(const transfer& one);  // may be queued between a lazy request and its mark
  /// Returns false when no operation was queued: see backend_stream.
  [[nodiscard]] bool run_sequences(std::span<const operation_list* const> sequences,
                                   member_observer& observer, const charged_accounts& members);
  void fill(void* dst, const void* value, std::size_t element, std::size_t count);
  [[nodiscard]] event record();
  void wait(const std::shared_ptr<backend_event>& point, dependency what = dependency::data);
  void wait_native(void* event);
  void launch_graph(const std::shared_ptr<backend_graph>& recording);
  void begin_capture();
  [[nodiscard]] graph end_capture();
  [[nodiscard]] void* native_handle(backend_kind family);

  // --- completion
  /// Requests a mark and adds a waiter for it; returns false when its work is over already.
  bool subscribe(completion_node& node, urgency when = urgency::now);
  bool withdraw(completion_node& node) noexcept { return m_waiters.withdraw(node); }
  /// Returns whether all work is over; requests a mark if needed. @throws device_error when the
  /// device is lost
  [[nodiscard]] bool is_idle();
  /// Returns the mark that completes all operations submitted so far; 0 when they are over already.
  [[nodiscard]] std::uint64_t position() noexcept;
  [[nodiscard]] bool has_passed(std::uint64_t mark) noexcept;
  /// Waits on the calling thread. Errors are recorded for the waiters.
  void synchronize() noexcept;
  /// Requests a mark and waits until it is passed. @throws usage_error inside a capture of this
  /// thread; device_error
  void finish();

  void reached(std::uint64_t sequence) noexcept override;
  void failed(std::uint64_t sequence, std::exception_ptr error) noexcept override;

  // --- for the poller: called by the polling thread only, except waiters()
  /// Moves completed waiters to `ready`; returns true while waiters remain.
  [[nodiscard]] bool check(std::uint64_t now_ns, ready_list& ready,
                           std::uint64_t& stall_queries) noexcept;
  [[nodiscard]] std::size_t waiters() const noexcept { return m_waiters.count(); }
  stream_state* next_watched = nullptr;   // link in the poller's lists of watched streams
  stream_state* next_enrolled = nullptr;  // link in its list of all streams

 private:
  void reached_next() noexcept override;
  void end_loan() noexcept;
  void throw_if_lost();
  void query_events() noexcept { m_waiters.lose(m_marks.query_events()); }
  // The next two functions lock the submit lock; mark_overdue() only tries to.
  [[nodiscard]] bool mark_overdue() noexcept;
  enum class delay { ends, goes_on };  // of a lazy mark
  template <class Operation>
  void submit(delay lazy_mark, span_kind kind, const char* name, const charged_accounts* members,
              const Operation& enqueue);
  // Called under the submit lock:
  std::uint64_t mark(urgency when) {
    m_times.close();
    return m_marks.request(when, *m_queue);
  }
  void end_delay();
  void put_barrier();
  void note(span_kind kind, const char* name, bool captured);

  const stream_context* m_context;
  stream_id m_id;
  starling::priority m_priority;
  const backend_partition* m_partition;
  std::unique_ptr<backend_stream> m_queue;
  std::atomic<int> m_borrowers{0};

  submit_lock m_submit_lock;
  std::vector<backend_graph::operation> m_captured;
  stream_marks m_marks;
  stream_times m_times;
  stream_waiters m_waiters;

  // For the poller, while it watches the stream: word and time of the last progress.
  std::uint64_t m_seen = 0;
  std::uint64_t m_progress_ns = 0;
};

}  // namespace starling::detail
