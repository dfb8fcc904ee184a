// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <typeindex>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/runtime.hpp>

#include "binding.hpp"
#include "chaos.hpp"
#include "shared_queue.hpp"
#include "timer_queue.hpp"

namespace starling::detail {

/// State of one runtime, shared by its workers.
class scheduler_impl {
 public:
  scheduler_impl(runtime& facade, runtime_options options);
  ~scheduler_impl();
  /// Ends the runtime before the destruction; blocks. False: workers, or objects that they refer
  /// to, may still be in use, so the scheduler must not be destroyed.
  [[nodiscard]] bool end() noexcept;
  /// Stops the scheduler in the child of a fork. The child has no workers, except the forking
  /// thread if that was a worker: this worker then leaves its loop.
  void stop_in_child() noexcept { m_stopping.store(true, std::memory_order_relaxed); }

  [[nodiscard]] runtime& facade() const noexcept { return m_facade; }
  [[nodiscard]] const runtime_options& options() const noexcept { return m_options; }
  [[nodiscard]] starling::tracer& tracer() noexcept { return m_tracer; }
  [[nodiscard]] timer_queue& timers() noexcept { return m_timers; }
  [[nodiscard]] unsigned worker_count() const noexcept { return unsigned(m_workers.size()); }
  [[nodiscard]] worker& at(unsigned index) noexcept { return *m_workers[index]; }
  void check_index(unsigned index) const;  // throws usage_error
  [[nodiscard]] bool stopping() const noexcept {
    return m_stopping.load(std::memory_order_acquire);
  }

  // --- ready work
  /// Guard that keeps the scheduler from ending while a thread outside the runtime, or a worker
  /// that has announced its sleep, makes a coroutine ready, until it has left the scheduler's
  /// functions.
  class visit {
   public:
    explicit visit(scheduler_impl& s) noexcept : m_visited(s) {
      // Relaxed: the push of the coroutine publishes it to the thread that ends the scheduler.
      m_visited.m_visitors.fetch_add(1, std::memory_order_relaxed);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() { m_visited.m_visitors.fetch_sub(1, std::memory_order_release); }

   private:
    scheduler_impl& m_visited;
  };
  void inject(promise_base& c) noexcept {
    m_shared.push(c);
    wake_searcher();
  }
  void inject_yielded(promise_base& c) noexcept {
    m_shared.push_yielded(c);
    wake_searcher();
  }
  [[nodiscard]] shared_queue& shared() noexcept { return m_shared; }

  // --- idle workers
  [[nodiscard]] idle_board& board() noexcept { return m_board; }
  void wake_one() noexcept;
  void wake_all() noexcept;
  /// Wakes a worker unless one searches: a searching worker searches again before it sleeps, and
  /// wakes another worker when it finds work.
  void wake_searcher() noexcept;
  void notify_pollers() noexcept;
  /// Returns whether a poll is due because of a notification.
  [[nodiscard]] bool notified() const noexcept {
    return m_notified.load(std::memory_order_seq_cst);
  }
  /// Returns whether there is ready work that any worker may take.
  [[nodiscard]] bool shared_work_in_sight() const noexcept;
  /// Returns whether a sleeping worker's alarm is set for the next deadline, or there is no
  /// deadline.
  [[nodiscard]] bool alarm_is_set() const noexcept;
  /// Returns whether all workers are counted as sleeping.
  [[nodiscard]] bool all_asleep() const noexcept {
    return m_board.sleeping.load(std::memory_order_seq_cst) == int(m_workers.size());
  }
  /// Ends the run if it hangs or all its work is done. Called by a worker that has announced its
  /// sleep and found no work.
  void check_quiescence() noexcept;

  // --- polling
  void add_poller(poller& p);
  void remove_poller(poller& p) noexcept;
  /// Collects completions and schedules them. Returns at once if another worker polls.
  void poll() noexcept;
  /// Returns the operations in flight of all pollers but `except`.
  [[nodiscard]] std::size_t in_flight(const poller* except = nullptr) const noexcept;
  [[nodiscard]] bool needs_polling() const noexcept;
  [[nodiscard]] std::uint64_t next_deadline() const noexcept;

  // --- waits of outside threads
  void wait_root(task<void> body, sync_root& root);
  void wait_idle();
  void hold() noexcept { m_external.fetch_add(1, std::memory_order_seq_cst); }
  void unhold() noexcept;
  void set_connected(bool connected) noexcept;
  [[nodiscard]] bool is_connected() const noexcept {
    return m_is_connected.load(std::memory_order_relaxed);
  }
  void report_unhandled(std::exception_ptr error) noexcept;
  /// Makes `c`, a suspended coroutine of this scheduler, ready once no work runs or is in flight.
  void resume_at_quiescence(promise_base& c, bool before_others);
  /// Ends the waits of all outside threads with `error`; without such a thread, stores it.
  void end_run(std::exception_ptr error) noexcept;
  /// Returns whether `end_run` has ended the run, and no thread has begun another run since.
  [[nodiscard]] bool run_has_ended() noexcept {
    std::lock_guard lock(m_root_mutex);
    return m_run_ended;
  }
  [[nodiscard]] std::uint64_t ended_runs() const noexcept {
    return m_ended_runs.load(std::memory_order_acquire);
  }

  // --- diagnosis
  /// Returns whether no work is runnable or in flight, and no external_work token exists.
  [[nodiscard]] bool is_quiescent() const noexcept { return is_quiescent_but_for(nullptr); }
  [[nodiscard]] std::uint64_t wakes() const noexcept {
    return m_board.wakes.load(std::memory_order_seq_cst);
  }
  /// Clears and returns whether a hang was seen while another runtime still ran. Requires the
  /// registry's lock.
  [[nodiscard]] bool take_suspicion() noexcept { return std::exchange(m_suspect, false); }
  [[nodiscard]] std::string describe_awaiters(bool quiescent = false) const;
  [[nodiscard]] const std::string& last_hang() const noexcept { return m_hang_report; }
  /// Returns the errors that are still to be thrown or printed, a line for each. Any thread.
  [[nodiscard]] std::string describe_waiting_errors() const;
  /// Returns whether `w` is a worker of this scheduler; only compares the pointer.
  [[nodiscard]] bool owns(const worker* w) const noexcept;

  [[nodiscard]] std::uint32_t chaos(std::uint32_t bound) noexcept;
  void* find_service(std::type_index type, const std::function<std::shared_ptr<void>()>& make,
                     bool ends_early);

 private:
  struct service_entry {
    std::type_index type;
    std::shared_ptr<void> object;
    bool ends_early;
  };

  [[nodiscard]] std::shared_ptr<void> make_service(
      std::type_index type, const std::function<std::shared_ptr<void>()>& make);
  /// Returns the coroutines that workers run or have queued, a line for each.
  [[nodiscard]] std::string describe_running() const;
  void start_workers();
  void stop_workers() noexcept;
  /// As is_quiescent, without the operations in flight of `except`.
  [[nodiscard]] bool is_quiescent_but_for(const poller* except) const noexcept;
  /// As is_quiescent, but ignores sleeping coroutines for which the end of the runtime does not
  /// wait. Requires m_root_mutex.
  [[nodiscard]] bool is_quiescent_but_for_sleeps() const noexcept;
  /// Returns whether a thread waits for a root. Requires m_root_mutex.
  [[nodiscard]] bool is_waited_for() const noexcept;
  [[nodiscard]] bool hang_counts() const noexcept;
  void look_for_hang() noexcept;
  void announce_quiescence() noexcept;
  [[nodiscard]] bool release_quiescence_waiters() noexcept;
  /// False: tasks were resumed, or another runtime may still resume them, so the run continues.
  [[nodiscard]] bool end_hung_run(bool waited_for) noexcept;
  [[nodiscard]] bool interrupt_leaves();
  /// False: sleeping coroutines were resumed.
  [[nodiscard]] bool end_sleeps() noexcept;
  void fail_roots(const std::exception_ptr& error) noexcept;

  /// False: the run was ended, but work still runs.
  [[nodiscard]] bool drain() noexcept;
  void leave_behind() noexcept;
  void finish_trace() noexcept;

  runtime& m_facade;
  runtime_options m_options;
  starling::tracer m_tracer;
  idle_board m_board;
  std::optional<core_claim> m_cores;
  std::vector<std::unique_ptr<worker>> m_workers;
  std::vector<std::thread> m_threads;
  std::atomic<bool> m_stopping{false};  // set once; workers leave their loops

  shared_queue m_shared;

  timer_queue m_timers;
  spin_lock m_polling;                  // held while a thread polls, possibly in driver calls
  mutable spin_lock m_pollers_lock;     // held to read the list without polling
  std::vector<poller*> m_pollers;       // changed under both locks
  std::atomic<bool> m_notified{false};  // raised by notify_pollers, lowered by the next poll

  mutable std::mutex m_root_mutex;  // guards the fields up to m_unhandled, unless noted
  std::condition_variable m_root_changed;
  std::vector<sync_root*> m_roots;  // blocked threads
  ready_list m_quiescence_waiters;  // coroutines that wait for quiescence
  ready_list m_first_waiters;       // coroutines that are resumed one by one before them
  int m_drains = 0;                 // 1 while the destructor waits
  int m_idle_waits = 0;             // threads in wait_idle()
  std::uint64_t m_quiescences = 0;  // times that the run became quiescent while a thread waited
  int m_hangs = 0;                  // consecutive diagnoses
  int m_ended_sleeps = 0;           // times that the end of the runtime has cut sleeps short
  bool m_suspect = false;           // guarded by the registry's lock
  std::string m_hang_report;        // written while all workers sleep, read by workers
  std::exception_ptr m_end;         // set by end_run if no thread waited
  std::atomic<std::uint64_t> m_ended_runs{0};  // release: publishes the writes before end_run
  bool m_run_ended = false;  // set by end_run: remaining coroutines are then not reported
  std::exception_ptr m_unhandled;

  std::atomic<long> m_external{0};  // external_work tokens
  // Written under m_root_mutex, because the hang diagnosis relies on it under that lock; other
  // readers may get a stale value.
  std::atomic<bool> m_is_connected{false};
  std::atomic<int> m_visitors{0};  // threads inside a `visit`

  std::atomic<std::uint64_t> m_chaos_state{0};
  // Guards the fields below. Recursive: a service may request further services while it is made.
  std::recursive_mutex m_service_mutex;
  std::vector<service_entry> m_services;
  std::vector<std::type_index> m_services_in_making;
};

}  // namespace starling::detail
