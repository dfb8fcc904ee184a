// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>

#include <starling/core/detail/compiler.hpp>
#include <starling/core/detail/load_meter.hpp>
#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/sleep_state.hpp>
#include <starling/core/detail/transfer_chain.hpp>
#include <starling/core/detail/worker_counters.hpp>
#include <starling/core/detail/worker_queues.hpp>

namespace starling::detail {

class scheduler_impl;
class chaos_source;
class worker_idle;
class worker_track;

/// A host thread of a scheduler and its queues. Members not marked otherwise are called by this
/// thread only.
class worker {
 public:
  worker(scheduler_impl& owner, unsigned index, idle_board& board);
  ~worker();

  /// Returns the worker of the calling thread, or null on a thread outside every scheduler.
  [[nodiscard]] static worker* current() noexcept;

  [[nodiscard]] scheduler_impl& owner() const noexcept { return *m_owner; }
  [[nodiscard]] unsigned index() const noexcept { return m_index; }
  /// Returns the time of this worker's last poll, or of a few polls before: steady clock ns.
  [[nodiscard]] std::uint64_t coarse_now() const noexcept { return m_now; }
  [[nodiscard]] const worker_counters& counters() const noexcept { return m_counters; }

  /// Begins to charge the time of coroutines to the accounts that `find` returns, the same function
  /// in all calls. Each call is to be followed by one of `end_metering`. @throws std::bad_alloc
  void begin_metering(load_meter::finder find);
  void end_metering() noexcept;
  /// Returns the meter of this worker; null: it has never had one.
  [[nodiscard]] load_meter* meter() const noexcept { return m_meter.get(); }
  /// Returns whether calls of `begin_metering` have not been ended.
  [[nodiscard]] bool is_metered() const noexcept { return m_meter_users != 0; }

  /// Makes `c` ready: this worker takes the newest item first, thieves take the oldest. While this
  /// worker's tasks are small, the newest item stays in the LIFO slot, which costs least.
  void push(promise_base& c) noexcept {
    if (promise_base* shared = m_queues.keep(c)) share(*shared);
  }
  /// Takes `c` back if it was pushed last and has not been taken since.
  [[nodiscard]] bool take_back(const promise_base& c) noexcept { return m_queues.take_back(c); }
  /// Makes `c` ready on this worker only, behind its pinned work of the same priority.
  void push_back(promise_base& c) noexcept { m_queues.push_pinned(c); }
  /// Makes `c`, which is pinned, ready behind all other work of this worker.
  void push_yielded(promise_base& c) noexcept { m_queues.push_yielded(c); }
  /// Makes `c` ready on this worker, in order of arrival per sender and priority. Any thread.
  void post(promise_base& c) noexcept;
  /// As above, called by this worker itself, so no wake-up is needed; keeps the order with posted
  /// work.
  void post_here(promise_base& c) noexcept;

  /// Returns the coroutine to continue with, from an `await_suspend`.
  [[nodiscard]] std::coroutine_handle<> transfer(promise_base& c) noexcept {
    if (c.home != this && !adopt(c)) [[unlikely]]
      return std::noop_coroutine();
    if (m_chain.extend()) [[likely]] {
      c.kind.store(await_kind::running, std::memory_order_relaxed);
      return c.handle();
    }
    return transfer_slowly(c);
  }

  /// The thread's main loop; returns when the scheduler stops.
  void run();

  /// Wakes this worker. True: it was asleep and this call woke it. Any thread.
  bool wake() noexcept { return m_sleep.wake(*m_board); }
  /// Returns the time at which this sleeping worker wakes by itself; 0 for never. Any thread.
  [[nodiscard]] std::uint64_t alarm() const noexcept { return m_sleep.alarm(); }
  /// Returns whether this worker is asleep and not being woken. Any thread.
  [[nodiscard]] bool is_asleep() const noexcept { return m_sleep.is_asleep(); }
  /// Returns whether inbox, deques and LIFO slot seem empty. Any thread.
  [[nodiscard]] bool looks_empty() const noexcept {
    return m_queues.looks_empty() && m_inbox.looks_empty(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool looks_stealable() const noexcept { return m_queues.looks_stealable(); }
  /// Takes the oldest stealable item, or returns null. Called by another worker at the time `now`.
  /// If there is only one item and this worker makes progress, the item is not taken, because this
  /// worker is about to run it while it is in cache. `seen`: the thief's last reading of this
  /// worker's progress.
  [[nodiscard]] promise_base* steal(progress_reading& seen, std::uint64_t now) noexcept;
  /// Returns whether an item waits in this worker's queues while a long task runs. Called by
  /// another worker.
  [[nodiscard]] bool needs_help(progress_reading& seen, std::uint64_t now) const noexcept {
    return !m_queues.looks_empty() && m_counters.stands_still(seen, now);
  }

 private:
  friend worker_idle;  // implements the worker while it has no work

  /// Makes `c` ready where thieves find it, and wakes a worker if none searches.
  void share(promise_base& c) noexcept {
    if (m_queues.share(c) && m_board->sleeping.load(std::memory_order_relaxed) > 0) [[unlikely]]
      wake_another();
  }
  void wake_another() noexcept;
  bool adopt(promise_base& c) noexcept;
  [[nodiscard]] std::coroutine_handle<> transfer_slowly(promise_base& c) noexcept;
  promise_base* next() noexcept;
  promise_base* fair_share() noexcept;
  promise_base* oldest_of(unsigned kind) noexcept;
  promise_base* chaos_next(promise_base* cut_off) noexcept;
  promise_base* take_local() noexcept {
    if (has_urgent()) [[unlikely]]
      if (promise_base* c = take_urgent()) return c;
    return m_queues.take_normal();
  }
  promise_base* take_pinned(priority p) noexcept;
  void empty_inbox(priority p) noexcept { m_inbox.empty_into(m_queues.pinned(p), p); }
  promise_base* take_urgent() noexcept;
  [[nodiscard]] bool has_urgent() const noexcept;  // also in the inbox and the shared queue
  void dispatch(promise_base& c);
  void dispatch_observed(promise_base& c);
  void set_observed() noexcept;
  void service() noexcept;
  void poll() noexcept;
  void keep_newest(bool keep) noexcept;
  promise_base* idle() noexcept;

  // Members that are used together are in the same cache lines. The following are constant; the
  // first three are read by any thread:
  scheduler_impl* m_owner;
  idle_board* m_board;
  unsigned m_index;
  bool m_is_observed = false;  // traced or metered
  std::unique_ptr<chaos_source> m_chaos;
  std::unique_ptr<worker_track> m_trace;
  std::unique_ptr<worker_idle> m_idle;
  std::unique_ptr<load_meter> m_meter;
  std::uint32_t m_meter_users = 0;

  // Used at every dispatch, by this worker only. Aligned to 128 bytes, because a processor may
  // prefetch pairs of lines.
  alignas(128) transfer_chain m_chain;
  std::uint32_t m_tick = 0;
  unsigned m_fair_kind = 0;  // the kind of work to prefer next
  std::uint64_t m_now = 0;
  std::uint64_t m_fair = 0;  // ns: last time at which an oldest item was preferred
  worker_queues m_queues;

  alignas(64) worker_counters m_counters;  // read by thieves

  // Written by other threads. In one cache line, because a post accesses both:
  alignas(64) worker_inbox m_inbox;
  sleep_state m_sleep;
  static_assert(sizeof(worker_inbox) + sizeof(sleep_state) <= 64);
};

extern constinit thread_local worker* t_worker [[gnu::tls_model("initial-exec")]];

/// Returns `t_worker`. Not inlined, for the reason given at `current_caches` (frame_pool.hpp).
[[nodiscard]] worker* current_worker() noexcept;

inline worker* worker::current() noexcept {
  return keeps_thread_local_addresses ? current_worker() : t_worker;
}

/// Makes a coroutine that yields and is not pinned ready for any worker, behind the ready work.
void inject_yielded(promise_base& c) noexcept;

/// Resumes a suspended coroutine inside this call if it may run on the calling thread, else makes
/// it ready. Any thread.
void resume_on_worker(promise_base& c) noexcept;

/// Resumes a suspended coroutine of the calling worker inside this call and charges its time to its
/// own account. Not called from a coroutine.
void resume_charged(promise_base& c) noexcept;

/// Makes `c`, which is about to be suspended, ready once its runtime is quiescent: no work runs or
/// is in flight. `before_others`: all other coroutines wait for the quiescence after its work.
void resume_at_quiescence(promise_base& c, bool before_others = false);

/// Returns whether the run of the calling worker's runtime was ended by an error or by `exit_run`,
/// and no thread has begun another run since. Workers only.
[[nodiscard]] bool run_has_ended() noexcept;

/// Ends all waits of threads for the runtime of `here` with `error`; if no thread waits, the
/// runtime reports it later. For errors of work without a waiter.
void end_run(worker& here, std::exception_ptr error) noexcept;

/// Makes `c` ready from a thread that is no worker of its scheduler, or from a worker that has
/// announced its sleep. `c` may end the scheduler as soon as it runs; the scheduler's end waits
/// until this call has returned.
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

/// Returns the object that `c` awaits, whose address mark_suspended got as a `T*`.
template <class T>
[[nodiscard]] T& awaited_object(const promise_base& c) noexcept {
  return *static_cast<T*>(const_cast<void*>(c.on.load(std::memory_order_relaxed)));
}

/// Records the wait `w` of `c`; `w` describes itself in a hang report. `w.withdraw()` removes the
/// wait, see withdraw_fn.
template <std::derived_from<described_wait> Wait>
void mark_suspended(promise_base& c, Wait& w, const std::source_location& at) noexcept {
  constexpr withdraw_fn withdraw = [](promise_base& p) noexcept {
    return static_cast<Wait&>(awaited_object<described_wait>(p)).withdraw();
  };
  mark_suspended(c, await_kind::custom, static_cast<described_wait*>(&w), withdraw, at);
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

}  // namespace starling::detail
