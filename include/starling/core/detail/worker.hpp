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

class scheduler;

namespace detail {

class scheduler_impl;
class chaos_source;
class trace_buffer;

/// How many workers sleep and how many look for work: what a push must know to wake one.
/// A push reads these after its release store without a fence; the worker that falls asleep makes
/// up for it with a process-wide barrier between announcing itself and its last look around.
struct alignas(64) idle_board {
  std::atomic<int> sleeping{0};
  std::atomic<int> searching{0};
  std::atomic<std::uint64_t> wakes{0};  // tells "all asleep" from "all asleep again"
  static constexpr unsigned nobody = ~0U;
  std::atomic<unsigned> watcher{nobody};  // the sleeper that looks now and then at busy workers
};

/// What a worker counted since it started. Written by the worker, read at any time.
struct worker_counters {
  std::atomic<std::uint64_t> resumed{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> slept{0};
  std::atomic<std::uint64_t> polled{0};
};

/// A thief's last reading of a worker's progress.
struct progress_reading {
  std::uint64_t resumed = 0;
  std::uint64_t since = 0;  // ns: when that number was first seen
};

inline void bump(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// One host thread of a scheduler and its queues. Only its own thread calls the unmarked members.
class alignas(64) worker {
 public:
  worker(scheduler_impl& owner, unsigned index, idle_board& board);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// The worker whose thread this is, or null on a thread outside every scheduler.
  [[nodiscard]] static worker* current() noexcept;

  [[nodiscard]] scheduler_impl& owner() const noexcept { return *m_owner; }
  [[nodiscard]] unsigned index() const noexcept { return m_index; }
  /// Steady clock ns when this worker last polled, or a few polls before.
  [[nodiscard]] std::uint64_t coarse_now() const noexcept { return m_now; }
  [[nodiscard]] const worker_counters& counters() const noexcept { return m_counters; }

  /// Makes `c` ready: newest first here, oldest first for thieves. The newest stays in the slot,
  /// where it costs next to nothing, as long as this worker's tasks are small.
  void push(promise_base& c) noexcept {
    if (m_keeps_newest && c.urgency == priority::normal) [[likely]] {
      promise_base* older = m_slot.take();
      m_slot.put(c);
      if (older != nullptr) share(*older);
    } else {
      share(c);
    }
  }

  /// Takes `c` back if it is what was pushed last and nobody has taken it since.
  [[nodiscard]] bool take_back(const promise_base& c) noexcept {
    if (m_slot.holds(&c)) [[likely]]
      return m_slot.take() != nullptr;
    // Not by its priority: `c` may be running elsewhere and change that.
    return m_deques[1].pop_if_newest(&c) || m_deques[0].pop_if_newest(&c);
  }

  /// Makes `c` ready on this worker after everything it holds now.
  void push_back(promise_base& c) noexcept { m_lanes[static_cast<int>(c.urgency)].push(c); }

  /// Makes `c`, which is pinned, ready behind all other work of this worker.
  void push_yielded(promise_base& c) noexcept { m_yielded.push(c); }

  /// Any thread: makes `c` ready on this worker, in order of arrival per sender and priority.
  void post(promise_base& c) noexcept;
  /// By this worker itself, awake: the same, in one order with what others post.
  void post_here(promise_base& c) noexcept;

  /// The coroutine to continue with, from an `await_suspend`. Bounded in depth, so that the stack
  /// stays small where the compiler does not turn the transfer into a jump.
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

  /// Any thread: true when this worker was asleep and this very call woke it.
  bool wake() noexcept;
  /// Any thread: when this worker, asleep, wakes by itself; 0 for never.
  [[nodiscard]] std::uint64_t alarm() const noexcept {
    return m_alarm.load(std::memory_order_seq_cst);
  }
  /// Any thread: whether this worker sleeps and nobody is waking it.
  [[nodiscard]] bool is_asleep() const noexcept {
    return m_rest.load(std::memory_order_seq_cst) == static_cast<int>(rest::asleep);
  }
  /// Any thread: whether nothing lies in the inbox and the deques.
  [[nodiscard]] bool looks_empty() const noexcept;
  [[nodiscard]] bool looks_stealable() const noexcept {
    return !m_deques[0].looks_empty() || !m_deques[1].looks_empty();
  }
  /// Another worker, at the time `now`: the oldest stealable item. A lone item of a worker that
  /// gets on with its tasks is left alone, because its owner is about to take it while it is still
  /// in cache: `seen` is the thief's last reading of this worker's progress.
  [[nodiscard]] promise_base* steal(progress_reading& seen, std::uint64_t now) noexcept;
  /// Another worker: whether an item waits here while a long task runs.
  [[nodiscard]] bool needs_help(progress_reading& seen, std::uint64_t now) const noexcept {
    return (looks_stealable() || m_slot.occupied()) && stands_still(seen, now);
  }

 private:
  enum class rest : int { awake, waking, asleep };

  /// Makes `c` ready where thieves find it, and sees to it that one looks.
  void share(promise_base& c) noexcept {
    if (!m_deques[static_cast<int>(c.urgency)].push(&c)) [[unlikely]]
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
  promise_base* take_lane(priority p) noexcept;
  void empty_inbox(int of_priority) noexcept;
  promise_base* take_urgent() noexcept;
  [[nodiscard]] bool has_urgent() const noexcept;
  promise_base* search() noexcept;
  promise_base* steal_from_others() noexcept;
  void dispatch(promise_base& c);
  void dispatch_traced(promise_base& c);
  void service() noexcept;
  void keep_newest(bool keep) noexcept;
  promise_base* idle() noexcept;
  void weigh_last_theft(std::uint64_t now) noexcept;
  promise_base* spin() noexcept;
  promise_base* await_message() noexcept;
  promise_base* look_around() noexcept;
  bool sleep() noexcept;  // whether it was the watcher
  void hand_over(bool watched) noexcept;
  void rest_until_woken(bool fenced) noexcept;
  bool end_watch() noexcept;
  [[nodiscard]] bool somebody_needs_help() noexcept;
  [[nodiscard]] bool must_poll() const noexcept;
  [[nodiscard]] std::uint64_t wake_up_time(bool fenced) const noexcept;
  void wake_another() noexcept;

  // Constant while the thread runs; other workers read m_owner.
  scheduler_impl* m_owner;
  idle_board* m_board;
  unsigned m_index;
  static constexpr unsigned max_depth = 32;
  unsigned m_depth_limit = max_depth;  // 0: each transfer is to be looked at
  std::unique_ptr<chaos_source> m_chaos;
  std::unique_ptr<trace_buffer> m_trace;
  std::vector<progress_reading> m_seen;  // progress of each other worker when last looked at
  spin_patience m_patience;              // of a connected runtime
  bool m_awaits_messages = false;        // the last search ended with work that is pinned here
  std::uint64_t m_theft = 0;             // ns: when it last stole, 0: nothing since it was idle
  std::uint64_t m_reluctance = 0;        // ns: how long it waited before it stole again
  std::uint64_t m_next_theft = 0;        // ns: not before this time

  // Hot: read or written at every dispatch.
  alignas(64) promise_base* m_next = nullptr;  // continuation cut off by the depth limit
  unsigned m_depth = 0;
  std::uint32_t m_tick = 0;
  std::uint32_t m_transfers = 0;  // since the last look outside
  bool m_keeps_newest = false;    // ready work goes to the slot first
  std::uint64_t m_now = 0;
  std::uint64_t m_fair = 0;  // when an oldest task last had its turn
  unsigned m_fair_kind = 0;  // of which kind of work the next one is
  ready_list m_lanes[2];     // drained inbox, oldest first
  ready_list m_yielded;      // pinned coroutines that let others go ahead

  // What thieves look at now and then.
  alignas(64) worker_counters m_counters;
  lifo_slot<promise_base> m_slot;

  work_deque<promise_base> m_deques[2];

  // Written by other threads. Each inbox is a stack of arrivals: a sender links itself in with
  // release, the worker takes the whole stack with one acquiring exchange and reverses it.
  alignas(64) std::atomic<promise_base*> m_inbox[2]{nullptr, nullptr};
  // asleep → waking by exactly one waker, which takes this worker off the idle board and then lets
  // it go (awake): a worker on the board is at rest, and the board never counts one too many.
  std::atomic<int> m_rest{static_cast<int>(rest::awake)};
  std::atomic<std::uint64_t> m_alarm{0};  // written by this worker
};

extern constinit thread_local worker* t_worker [[gnu::tls_model("initial-exec")]];

/// For compilers that must not see the variable itself, see compiler.hpp.
[[nodiscard]] worker* current_worker() noexcept;

inline worker* worker::current() noexcept {
  if constexpr (keeps_thread_local_addresses)
    return current_worker();
  else
    return t_worker;
}

/// Makes a coroutine that yields and is not pinned ready for any worker, behind what is there.
void inject_yielded(promise_base& c) noexcept;

/// Any thread: goes on with a suspended coroutine here, where it may run, else makes it ready.
void resume_on_worker(promise_base& c) noexcept;

/// Makes `c`, which is about to be suspended, ready when nothing of its runtime runs or is in
/// flight any more.
void resume_at_rest(promise_base& c);

/// Ends all waits of threads for the runtime of `here` with `error`; nobody waiting, the runtime
/// reports it. For errors of work that nobody awaits.
void end_run(worker& here, std::exception_ptr error) noexcept;

/// Makes `c` ready from a thread that is no worker of its scheduler. That one may end as soon as
/// `c` runs: it waits until this call has left it.
void schedule_from_outside(promise_base& c) noexcept;

/// Any thread: makes a suspended coroutine ready, at its home if pinned, else here or wherever a
/// worker is free. Never runs it.
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

/// Records what `c` is about to wait for; called from `await_suspend` before anyone can resume it.
inline void mark_suspended(promise_base& c, await_kind kind, const void* on, detach_fn detach,
                           const std::source_location& at) noexcept {
  c.on.store(on, std::memory_order_relaxed);
  c.detach.store(detach, std::memory_order_relaxed);
  c.where.store(at, std::memory_order_relaxed);
  c.since.store(worker::current()->coarse_now(), std::memory_order_relaxed);
  c.kind.store(kind, std::memory_order_relaxed);
}

/// The record of a wait that did not come about must not outlive it.
inline void forget_wait(promise_base& c) noexcept {
  c.kind.store(await_kind::running, std::memory_order_relaxed);
}

/// Ends an `await_suspend`: `waits` says whether it suspends `c`, which may then be gone.
[[nodiscard]] inline bool waits_or_goes_on(promise_base& c, bool waits) noexcept {
  if (!waits) forget_wait(c);
  return waits;
}

}  // namespace detail
}  // namespace starling
