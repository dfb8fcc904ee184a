// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/device/detail/completion.hpp>

#include "backend.hpp"

namespace starling::detail {

class completion_poller;

/// State shared by the streams of a device.
struct stream_context {
  device* owner;
  completion_poller* poller;
  worker* home;
  starling::tracer* tracer;
  backend_traits traits;
  completion_kind completion;
  std::size_t most_scratch;  // most scratch bytes of a group
  bool barriers = false;     // redundant barriers between operations, for comparison
  // Whether the error of a lost device was delivered to a user. Read when streams are destroyed.
  mutable std::atomic<bool> loss_told{false};
};

/// A stream: the backend's queue and the waiters for its completion. Made once, recycled when its
/// last handle is released, destroyed with the device. Marks, waiters and allocators may therefore
/// point to it without owning it.
///
/// Marks number the requests for completion; a stretch is the work between two marks. There are two
/// locks. A mutex, the submit lock, orders submissions; driver calls and, in a capture, user code
/// run under it. A spin lock, the wait lock, guards the waiters; a driver's thread takes it too.
/// The wait lock may be taken under the submit lock. No driver call is made under the wait lock.
///
/// A refused allocation stops neither the release of a handle nor a completion nor the record of a
/// failure.
class stream_state final : public completion_listener {
 public:
  stream_state(const stream_context& context, stream_id id, starling::priority priority,
               completion_word& word, const backend_partition* partition = nullptr);
  ~stream_state();
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  /// Called once, before use. `adopted`: code outside Starling submits to the queue too, so every
  /// request needs a mark.
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

  // --- submissions, each one step in the stream's order
  void launch(const kernel_call& call);
  void copy(std::span<const transfer> transfers, member_observer* observer = nullptr);
  void pull(const transfer& one);  // may be queued between a lazy request and its mark
  /// Returns false when nothing was queued, see backend_stream.
  [[nodiscard]] bool run_sequences(std::span<const operation_list* const> sequences,
                                   member_observer& observer);
  void fill(void* dst, const void* value, std::size_t element, std::size_t count);
  [[nodiscard]] event record();
  void wait(const std::shared_ptr<backend_event>& point, dependency what = dependency::data);
  void wait_native(void* event);
  void launch_graph(const std::shared_ptr<backend_graph>& recording);
  void begin_capture();
  [[nodiscard]] graph end_capture();
  [[nodiscard]] void* native_handle(backend_kind family);

  // --- completion
  /// Adds a waiter; returns false when its work is over already. `lazy`: the mark is requested
  /// later, by the poller once the previous mark is passed, or before an operation other than
  /// `pull`.
  bool subscribe(completion_node& node, bool lazy = false);
  bool withdraw(completion_node& node) noexcept;
  /// Returns whether all work is over; requests a mark if needed. @throws device_error when the
  /// device is lost
  [[nodiscard]] bool is_idle();
  /// Returns the mark that completes everything submitted so far; 0 when it is over already.
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
  [[nodiscard]] std::size_t waiters() const noexcept {
    return m_waiters.load(std::memory_order_relaxed);
  }
  stream_state* next_watched = nullptr;  // link in the poller's lists

 private:
  friend class submission;
  struct failure {
    std::uint64_t first;     // first failed stretch; several share a record when memory is refused
    std::uint64_t sequence;  // last failed stretch of this record
    std::exception_ptr error;
    bool observed;
  };
  struct pending_event {
    std::uint64_t sequence;
    std::shared_ptr<backend_event> point;
  };
  class handover;

  void reached_next() noexcept override;
  void end_loan() noexcept;
  void throw_if_lost();
  [[nodiscard]] bool is_polled() const noexcept;
  // Called under the submit lock:
  [[nodiscard]] std::uint64_t request_mark(bool behind_copies = false);
  [[nodiscard]] completion_kind kind_of_mark(bool behind_copies) const noexcept;
  void prepare(bool captured);
  void end_delay();
  [[nodiscard]] bool may_delay() const noexcept;
  [[nodiscard]] bool put_delayed_mark() noexcept;
  void put_barrier();
  void note(span_kind kind, const char* name, bool captured);
  [[nodiscard]] std::uint64_t passed() const noexcept {
    // Acquire: makes the writes of the work before the mark visible.
    return m_word->load(std::memory_order_acquire);
  }
  /// Returns whether an event mark may not be passed yet, so that events must be queried.
  [[nodiscard]] bool has_events() const noexcept {
    return passed() < m_last_event.load(std::memory_order_relaxed);
  }
  // Called under the wait lock:
  void link(completion_node& node) noexcept;
  [[nodiscard]] std::size_t collect(std::uint64_t through, handover& done) noexcept;
  void lower_waiters(std::size_t by) noexcept {
    m_waiters.store(m_waiters.load(std::memory_order_relaxed) - by, std::memory_order_relaxed);
  }
  [[nodiscard]] static bool concerns(const failure& f, const completion_node& node) noexcept;
  [[nodiscard]] std::exception_ptr error_for(const completion_node& node) noexcept;
  [[nodiscard]] bool is_stale(const failure& f) const noexcept;
  // Take the wait lock:
  void report_stale_failures() noexcept;
  void advance_events() noexcept;
  // Called under the wait lock:
  void remember(std::uint64_t sequence, std::exception_ptr error) noexcept;
  [[nodiscard]] bool settle(completion_node& node, std::uint64_t sequence,
                            std::uint64_t now_passed);

  const stream_context* m_context;
  stream_id m_id;
  starling::priority m_priority;
  const backend_partition* m_partition;
  std::unique_ptr<backend_stream> m_queue;
  std::atomic<int> m_borrowers{0};

  std::mutex m_submit_lock;  // guards the members down to m_captured
  // Token of the capturing thread, which holds the submit lock for the whole capture and therefore
  // does not lock it again. Written under the lock. Relaxed: no other thread reads its own token.
  std::atomic<const void*> m_capturer{nullptr};
  bool m_dirty = false;                   // work was submitted after the last mark
  bool m_adopted = false;                 // the vendor's stream is owned elsewhere: always foreign
  bool m_foreign = false;                 // code outside Starling may submit: always dirty
  std::atomic<bool> m_is_delayed{false};  // a lazy waiter needs the next mark, not yet requested
  std::uint64_t m_last_foreign = 0;       // the last mark that was requested as foreign
  std::vector<backend_graph::operation> m_captured;
  // Last mark requested. Written under the submit lock; a stale value read elsewhere is harmless.
  std::atomic<std::uint64_t> m_marks{0};
  std::atomic<std::uint64_t> m_last_event{0};  // the last requested mark that is an event

  completion_word* m_word;  // last mark passed; stored by device, reached() or advance_events()
  spin_lock m_wait_lock;    // guards the members down to m_events
  completion_node* m_head = nullptr;  // in order of sequence
  completion_node* m_tail = nullptr;
  std::atomic<std::size_t> m_waiters{0};  // written under the wait lock, read without it
  bool m_watched = false;                 // in the poller's lists
  std::vector<failure> m_failures;
  std::uint64_t m_released =
      0;  // all users of stretches up to this mark have released their handles
  std::exception_ptr m_fatal;
  std::uint64_t m_asked_ns = 0;       // when throw_if_lost() last queried the device
  std::list<pending_event> m_events;  // of marks not seen to be passed, oldest first

  std::uint64_t m_seen = 0;  // for the poller: word and time of the last progress
  std::uint64_t m_progress_ns = 0;
};

}  // namespace starling::detail
