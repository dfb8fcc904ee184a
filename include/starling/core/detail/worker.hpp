// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <vector>

#include <starling/core/detail/compiler.hpp>
#include <starling/core/detail/lifo_slot.hpp>
#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/spin_patience.hpp>
#include <starling/core/detail/work_deque.hpp>

namespace starling {

namespace detail {

class scheduler_impl;
class chaos_source;
class worker_track;

/// The board: numbers of sleeping and of searching workers, by which a push decides whether to wake
/// a worker. A push reads them after its release store without a fence; instead, a worker that
/// falls asleep executes a process-wide barrier between its announcement and its last search.
struct alignas(64) idle_board {
  std::atomic<int> sleeping{0};
  std::atomic<int> searching{0};
  std::atomic<std::uint64_t> wakes{0};  // distinguishes "all asleep" from "all asleep again"
  static constexpr unsigned no_worker = ~0U;
  std::atomic<unsigned> watcher{no_worker};  // the sleeper that checks busy workers now and then
};

/// Counters of a worker since its start. Written by the worker, read by any thread.
struct worker_counters {
  std::atomic<std::uint64_t> resumed{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> slept{0};
  std::atomic<std::uint64_t> polled{0};
};

/// A thief's last reading of a worker's progress.
struct progress_reading {
  std::uint64_t resumed = 0;
  std::uint64_t since = 0;  // ns: time at which that number was first read
};

inline void bump(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// A host thread of a scheduler and its queues. Members not marked otherwise are called by this
/// thread only.
class alignas(64) worker {
 public:
  worker(scheduler_impl& owner, unsigned index, idle_board& board);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Returns the worker of the calling thread, or null on a thread outside every scheduler.
  [[nodiscard]] static worker* current() noexcept;

  [[nodiscard]] scheduler_impl& owner() const noexcept { return *m_owner; }
  [[nodiscard]] unsigned index() const noexcept { return m_index; }
  /// Returns the time of this worker's last poll, or of a few polls before: steady clock ns.
  [[nodiscard]] std::uint64_t coarse_now() const noexcept { return m_now; }
  [[nodiscard]] const worker_counters& counters() const noexcept { return m_counters; }

  /// Makes `c` ready: this worker takes the newest item first, thieves take the oldest. While this
  /// worker's tasks are small, the newest item stays in the LIFO slot, which costs least.
  void push(promise_base& c) noexcept {
    if (m_keeps_newest && c.priority == priority::normal) [[likely]] {
      promise_base* older = m_slot.take();
      m_slot.put(c);
      if (older != nullptr) share(*older);
    } else {
      share(c);
    }
  }

  /// Takes `c` back if it was pushed last and has not been taken since.
  [[nodiscard]] bool take_back(const promise_base& c) noexcept {
    if (m_slot.holds(&c)) [[likely]]
      return m_slot.take() != nullptr;
    // Both deques, as `c.priority` must not be read: another worker may run `c` and change it.
    return m_deques[1].pop_if_newest(&c) || m_deques[0].pop_if_newest(&c);
  }

  /// Makes `c` ready on this worker only, behind its pinned work of the same priority.
  void push_back(promise_base& c) noexcept { m_pinned[static_cast<int>(c.priority)].push(c); }

  /// Makes `c`, which is pinned, ready behind all other work of this worker.
  void push_yielded(promise_base& c) noexcept { m_yielded.push(c); }

  /// Makes `c` ready on this worker, in order of arrival per sender and priority. Any thread.
  void post(promise_base& c) noexcept;
  /// As above, called by this worker itself, which is awake; keeps the order with posted work.
  void post_here(promise_base& c) noexcept;

  /// Returns the coroutine to continue with, from an `await_suspend`. The depth is bounded, so that
  /// the stack stays small if the compiler does not turn the transfer into a jump.
  [[nodiscard]] std::coroutine_handle<> transfer(promise_base& c) noexcept {
    if (c.home != this && !adopt(c)) [[unlikely]]
      return std::noop_coroutine();
    if (++m_depth <= m_depth_limit) [[likely]] {
      c.kind.store(await_kind::running, std::memory_order_relaxed);
      return c.handle();
    }
    return transfer_slowly(c);
  }

  /// The thread's main loop; returns when the scheduler stops.
  void run();

  /// Wakes this worker. True: it was asleep and this call woke it. Any thread.
  bool wake() noexcept;
  /// Returns the time at which this sleeping worker wakes by itself; 0 for never. Any thread.
  [[nodiscard]] std::uint64_t alarm() const noexcept {
    return m_alarm.load(std::memory_order_seq_cst);
  }
  /// Returns whether this worker is asleep and not being woken. Any thread.
  [[nodiscard]] bool is_asleep() const noexcept {
    return m_sleep_state.load(std::memory_order_seq_cst) == static_cast<int>(sleep_state::asleep);
  }
  /// Returns whether inbox, deques and LIFO slot seem empty. Any thread.
  [[nodiscard]] bool looks_empty() const noexcept;
  [[nodiscard]] bool looks_stealable() const noexcept {
    return !m_deques[0].looks_empty() || !m_deques[1].looks_empty();
  }
  /// Takes the oldest stealable item, or returns null. Called by another worker at the time `now`.
  /// The only item of a worker that makes progress is not taken, because its owner is about to run
  /// it while it is in cache. `seen`: the thief's last reading of this worker's progress.
  [[nodiscard]] promise_base* steal(progress_reading& seen, std::uint64_t now) noexcept;
  /// Returns whether an item waits here while a long task runs. Called by another worker.
  [[nodiscard]] bool needs_help(progress_reading& seen, std::uint64_t now) const noexcept {
    return (looks_stealable() || m_slot.occupied()) && stands_still(seen, now);
  }

 private:
  enum class sleep_state : int { awake, waking, asleep };

  /// Makes `c` ready where thieves find it, and wakes a worker if none searches.
  void share(promise_base& c) noexcept {
    if (!m_deques[static_cast<int>(c.priority)].push(&c)) [[unlikely]]
      return push_back(c);
    if (m_board->sleeping.load(std::memory_order_relaxed) > 0) [[unlikely]]
      wake_another();
  }

  bool adopt(promise_base& c) noexcept;
  [[nodiscard]] std::coroutine_handle<> transfer_slowly(promise_base& c) noexcept;
  void put_back(promise_base& c) noexcept;
  [[nodiscard]] bool stands_still(progress_reading& seen, std::uint64_t now) const noexcept;
  promise_base* next() noexcept;
  promise_base* fair_share() noexcept;
  promise_base* oldest_of(unsigned kind) noexcept;
  promise_base* chaos_next(promise_base* cut_off) noexcept;
  promise_base* take_local() noexcept;
  promise_base* take_pinned(priority p) noexcept;
  void empty_inbox(int of_priority) noexcept;
  promise_base* take_urgent() noexcept;
  [[nodiscard]] bool has_urgent() const noexcept;
  promise_base* search() noexcept;
  promise_base* steal_from_any() noexcept;
  void dispatch(promise_base& c);
  void dispatch_traced(promise_base& c);
  void service() noexcept;
  void keep_newest(bool keep) noexcept;
  promise_base* idle() noexcept;
  void weigh_last_theft(std::uint64_t now) noexcept;
  promise_base* spin() noexcept;
  promise_base* await_message() noexcept;
  promise_base* look_around() noexcept;
  bool sleep() noexcept;  // returns whether it was the watcher
  void hand_over(bool watched) noexcept;
  void sleep_until_woken(bool fenced) noexcept;
  bool end_watch() noexcept;
  [[nodiscard]] bool any_needs_help() noexcept;
  [[nodiscard]] bool must_poll() const noexcept;
  [[nodiscard]] std::uint64_t wake_up_time(bool fenced) const noexcept;
  void wake_another() noexcept;

  // The first three are constant and read by any thread. The remaining fields: this worker only.
  scheduler_impl* m_owner;
  idle_board* m_board;
  unsigned m_index;
  static constexpr unsigned max_depth = 32;
  unsigned m_depth_limit = max_depth;  // 0: each transfer takes the slow path
  std::unique_ptr<chaos_source> m_chaos;
  std::unique_ptr<worker_track> m_trace;
  std::vector<progress_reading> m_seen;  // last reading of each worker's progress
  spin_patience m_patience;              // used in a connected runtime
  bool m_awaits_messages = false;        // the last search ended with work pinned to this worker
  std::uint64_t m_theft = 0;             // ns: time of the last theft; 0: none since it was idle
  std::uint64_t m_theft_pause = 0;       // ns: current pause after a theft
  std::uint64_t m_next_theft = 0;        // ns: no theft before this time

  // Hot: read or written at every dispatch.
  alignas(64) promise_base* m_next = nullptr;  // continuation cut off by the depth limit
  unsigned m_depth = 0;
  std::uint32_t m_tick = 0;
  std::uint32_t m_transfers = 0;  // since the last `service`
  bool m_keeps_newest = false;    // ready work is put into the LIFO slot first
  std::uint64_t m_now = 0;
  std::uint64_t m_fair = 0;  // ns: last time at which an oldest item was preferred
  unsigned m_fair_kind = 0;  // the kind of work to prefer next
  ready_list m_pinned[2];    // from the inbox, oldest first
  ready_list m_yielded;      // pinned coroutines that have yielded

  // Read by thieves.
  alignas(64) worker_counters m_counters;
  lifo_slot<promise_base> m_slot;

  work_deque<promise_base> m_deques[2];

  // Written by other threads. Each inbox is a stack of arrivals: a sender links its item in with
  // release, the worker takes the whole stack with one acquiring exchange and reverses it.
  alignas(64) std::atomic<promise_base*> m_inbox[2]{nullptr, nullptr};
  // asleep → waking by exactly one waker, which takes this worker off the board and then sets it
  // awake. So a worker on the board runs nothing, and the board never counts too many sleepers.
  std::atomic<int> m_sleep_state{static_cast<int>(sleep_state::awake)};
  std::atomic<std::uint64_t> m_alarm{0};  // written by this worker
};

extern constinit thread_local worker* t_worker [[gnu::tls_model("initial-exec")]];

/// Returns `t_worker`, for compilers that must not inline the access, see compiler.hpp.
[[nodiscard]] worker* current_worker() noexcept;

inline worker* worker::current() noexcept {
  if constexpr (keeps_thread_local_addresses)
    return current_worker();
  else
    return t_worker;
}

/// Makes a coroutine that yields and is not pinned ready for any worker, behind the ready work.
void inject_yielded(promise_base& c) noexcept;

/// Resumes a suspended coroutine inside this call if it may run on the calling thread, else makes
/// it ready. Any thread.
void resume_on_worker(promise_base& c) noexcept;

/// Makes `c`, which is about to be suspended, ready once its runtime is quiescent: no work runs or
/// is in flight.
void resume_at_quiescence(promise_base& c);

/// Ends all waits of threads for the runtime of `here` with `error`; if no thread waits, the
/// runtime reports it later. For errors of work without a waiter.
void end_run(worker& here, std::exception_ptr error) noexcept;

/// Makes `c` ready from a thread that is no worker of its scheduler. The scheduler may end as soon
/// as `c` runs; it waits until this call has returned.
void schedule_from_outside(promise_base& c) noexcept;

/// Makes a suspended coroutine ready, without running it: on its home worker if pinned, else on the
/// calling worker or, from outside its runtime, for any worker. Any thread.
inline void schedule(promise_base& c) noexcept {
  worker* here = worker::current();
  if (here == c.home) {
    if (c.pinned)
      here->push_back(c);
    else
      here->push(c);
  } else if (here == nullptr || &here->owner() != &c.home->owner()) {
    schedule_from_outside(c);
  } else if (c.pinned) {
    c.home->post(c);
  } else {
    here->push(c);
  }
}

/// Records the wait that `c` is about to begin. Called by `await_suspend`, before `c` can resume.
inline void mark_suspended(promise_base& c, await_kind kind, const void* on, withdraw_fn withdraw,
                           const std::source_location& at) noexcept {
  c.on.store(on, std::memory_order_relaxed);
  c.withdraw.store(withdraw, std::memory_order_relaxed);
  c.location.store(at, std::memory_order_relaxed);
  c.since.store(worker::current()->coarse_now(), std::memory_order_relaxed);
  c.kind.store(kind, std::memory_order_relaxed);
}

/// Clears the record of a wait that did not take place.
inline void forget_wait(promise_base& c) noexcept {
  c.kind.store(await_kind::running, std::memory_order_relaxed);
}

/// Returns the result of an `await_suspend`: whether `c` is suspended, and so may be destroyed.
[[nodiscard]] inline bool confirm_suspended(promise_base& c, bool waits) noexcept {
  if (!waits) forget_wait(c);
  return waits;
}

}  // namespace detail
}  // namespace starling
