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

/// What the streams of a device have in common.
struct stream_context {
  device* owner;
  completion_poller* poller;
  worker* home;
  starling::tracer* tracer;
  backend_traits traits;
  completion_kind completion;
  std::size_t most_scratch;  // bytes of a group
  bool barriers = false;     // between operations, needlessly: for comparison
  // Whether a user knows that the device is lost: set by who tells, read when streams end.
  mutable std::atomic<bool> loss_told{false};
};

/// A queue and those who wait for it. Made once, recycled when its last handle goes, destroyed with
/// the device: marks, waiters and allocators may point to it without owning it.
///
/// Marks number the requests for completion; a batch is what lies between two marks. Two locks, of
/// which the second may be taken under the first: a mutex orders submissions, because driver calls
/// and, in a capture, user code run under it; a spin lock guards the waiters, because a driver's
/// thread takes it. No driver call is made under the spin lock.
///
/// Giving a handle up, completion and failures take no memory that may be refused.
class stream_state final : public completion_listener {
 public:
  stream_state(const stream_context& context, stream_id id, priority urgency, completion_word& word,
               const backend_part* part = nullptr);
  ~stream_state();
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  /// Once, before use. `adopted`: others submit to it too, so every request needs a mark.
  void open(std::unique_ptr<backend_stream> queue, bool adopted);

  [[nodiscard]] const stream_context& context() const noexcept { return *m_context; }
  [[nodiscard]] stream_id id() const noexcept { return m_id; }
  [[nodiscard]] priority urgency() const noexcept { return m_urgency; }
  [[nodiscard]] const backend_part* part() const noexcept { return m_part; }  // of the device

  // --- handles
  void borrow() noexcept { m_borrowers.fetch_add(1, std::memory_order_relaxed); }
  /// Gives a handle up; the last one lets the device recycle the stream.
  void give_back() noexcept;
  /// Handles, that of the pool or the device which keeps the stream included.
  [[nodiscard]] int borrowers() const noexcept {
    return m_borrowers.load(std::memory_order_relaxed);
  }

  // --- submissions, each one step in the stream's order
  void launch(const kernel_call& call);
  void copy(std::span<const transfer> transfers, member_observer* observer = nullptr);
  void pull(const transfer& one);  // may stand between a lazy waiter and its mark
  /// False: not done, see backend_stream.
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
  /// `lazy`: the mark is put by the poller, when the last one has been passed, or before other work
  /// than `pull` comes.
  bool subscribe(completion_node& node, bool lazy = false);
  bool withdraw(completion_node& node) noexcept;
  /// Whether all is over; requests a mark if need be. @throws device_error when the device is lost
  [[nodiscard]] bool is_idle();
  /// The mark after which everything submitted so far is over; 0 when it is already.
  [[nodiscard]] std::uint64_t position() noexcept;
  [[nodiscard]] bool has_passed(std::uint64_t mark) noexcept;
  /// Waits on the calling thread. Errors are recorded for the waiters.
  void synchronize() noexcept;
  /// Requests a mark and waits until it is passed. @throws usage_error inside a capture of this
  /// thread; device_error
  void finish();

  void reached(std::uint64_t sequence) noexcept override;
  void failed(std::uint64_t sequence, std::exception_ptr error) noexcept override;

  // --- the poller's side; only the polling thread, but for waiters()
  /// Hands over who is done; true while somebody waits still.
  [[nodiscard]] bool check(std::uint64_t now_ns, ready_list& ready,
                           std::uint64_t& stall_queries) noexcept;
  [[nodiscard]] std::size_t waiters() const noexcept {
    return m_waiters.load(std::memory_order_relaxed);
  }
  stream_state* next_watched = nullptr;  // link in the poller's lists

 private:
  friend class submission;
  struct failure {
    std::uint64_t first;     // of the batches: one, unless there was no memory for more records
    std::uint64_t sequence;  // of the last of them
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
  // Under the submit lock:
  [[nodiscard]] std::uint64_t request_mark(bool behind_copies = false);
  [[nodiscard]] completion_kind kind_of_mark(bool behind_copies) const noexcept;
  void prepare(bool captured);
  void end_delay();
  [[nodiscard]] bool may_delay() const noexcept;
  [[nodiscard]] bool put_delayed_mark() noexcept;
  void put_barrier();
  void note(span_kind kind, const char* name, bool captured);
  [[nodiscard]] std::uint64_t passed() const noexcept {
    // Acquire: sees what the work before the mark wrote.
    return m_word->load(std::memory_order_acquire);
  }
  /// Whether a mark that may not have been passed is an event, and somebody has to look.
  [[nodiscard]] bool has_events() const noexcept {
    return passed() < m_last_event.load(std::memory_order_relaxed);
  }
  // Under the wait lock:
  void link(completion_node& node) noexcept;
  [[nodiscard]] std::size_t collect(std::uint64_t through, handover& done) noexcept;
  void lower_waiters(std::size_t by) noexcept {
    m_waiters.store(m_waiters.load(std::memory_order_relaxed) - by, std::memory_order_relaxed);
  }
  [[nodiscard]] static bool concerns(const failure& f, const completion_node& node) noexcept;
  [[nodiscard]] std::exception_ptr error_for(const completion_node& node) noexcept;
  [[nodiscard]] bool is_stale(const failure& f) const noexcept;
  // Takes the wait lock:
  void report_stale_failures() noexcept;
  void advance_events() noexcept;
  // Under the wait lock:
  void remember(std::uint64_t sequence, std::exception_ptr error) noexcept;
  [[nodiscard]] bool settle(completion_node& node, std::uint64_t sequence,
                            std::uint64_t now_passed);

  const stream_context* m_context;
  stream_id m_id;
  priority m_urgency;
  const backend_part* m_part;
  std::unique_ptr<backend_stream> m_queue;
  std::atomic<int> m_borrowers{0};

  std::mutex m_submit_lock;
  // The thread that captures holds the submit lock throughout and is let through by this. Written
  // under the lock; another thread never finds its own token here, so relaxed suffices.
  std::atomic<const void*> m_capturer{nullptr};
  bool m_dirty = false;                   // work since the last mark
  bool m_adopted = false;                 // foreign for ever
  bool m_foreign = false;                 // others may submit: always dirty
  std::atomic<bool> m_is_delayed{false};  // somebody waits for the mark that comes next
  std::uint64_t m_last_foreign = 0;       // the last mark that was requested as foreign
  std::vector<backend_graph::operation> m_captured;
  // Last mark requested. Written under the submit lock; a stale reading elsewhere is harmless.
  std::atomic<std::uint64_t> m_marks{0};
  std::atomic<std::uint64_t> m_last_event{0};  // the last of them that was an event

  completion_word* m_word;  // last mark passed; stored by the device, reached() or a look at events
  spin_lock m_wait_lock;
  completion_node* m_head = nullptr;  // in order of sequence
  completion_node* m_tail = nullptr;
  std::atomic<std::size_t> m_waiters{0};  // written under the wait lock, read by the diagnosis
  bool m_watched = false;                 // in the poller's lists
  std::vector<failure> m_failures;
  std::uint64_t m_released = 0;  // marks up to here have no handle that could still ask
  std::exception_ptr m_fatal;
  std::uint64_t m_asked_ns = 0;       // when is_idle() last asked the device for its error
  std::list<pending_event> m_events;  // not seen to be complete, oldest first

  std::uint64_t m_seen = 0;  // the poller's: word and time of the last progress
  std::uint64_t m_progress_ns = 0;
};

}  // namespace starling::detail
