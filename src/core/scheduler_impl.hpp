// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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
  /// All but the destruction; blocks. False: workers or what they refer to may still be used, so
  /// the scheduler must not be destroyed.
  [[nodiscard]] bool end() noexcept;
  /// In the child of a fork, where the workers are not: the thread that forked, if it is one,
  /// leaves its loop.
  void stop_in_child() noexcept { m_stopping.store(true, std::memory_order_relaxed); }
  scheduler_impl(const scheduler_impl&) = delete;
  scheduler_impl& operator=(const scheduler_impl&) = delete;

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
  /// While one exists, the scheduler does not end: for threads that are no workers of ours, from
  /// before they make something ready until they have done what that involves.
  class visit {
   public:
    explicit visit(scheduler_impl& s) noexcept : m_visited(s) {
      // Relaxed: what the visitor makes ready carries this along to whoever ends the scheduler.
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
  /// Wakes a worker unless one searches: that one looks once more before it sleeps, and wakes the
  /// next one when it finds something.
  void wake_searcher() noexcept;
  void notify_pollers() noexcept;
  /// Whether a poll is due because of a notification.
  [[nodiscard]] bool notified() const noexcept {
    return m_notified.load(std::memory_order_seq_cst);
  }
  /// Whether there is ready work that any worker may take.
  [[nodiscard]] bool shared_work_in_sight() const noexcept;
  /// Whether a sleeper wakes in time for the next deadline, if there is one.
  [[nodiscard]] bool alarm_is_set() const noexcept;
  /// Called by a worker that has announced its sleep and found nothing: ends a hung or drained run.
  void check_quiescence() noexcept;

  // --- polling
  void add_poller(poller& p);
  void remove_poller(poller& p) noexcept;
  /// Collects completions and schedules them. One worker at a time; others return at once.
  std::size_t poll() noexcept;
  /// Of all pollers but `except`.
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
  /// Makes `c`, a suspended coroutine of ours, ready when nothing runs or is in flight any more.
  void resume_at_rest(promise_base& c);
  /// Fails all who wait outside; if nobody does, reports it as unhandled.
  void end_run(std::exception_ptr error) noexcept;
  /// Whether a run has ended by `end_run`, and no thread has begun another one since.
  [[nodiscard]] bool run_has_ended() noexcept {
    std::lock_guard lock(m_root_mutex);
    return m_run_ended;
  }
  [[nodiscard]] std::uint64_t ended_runs() const noexcept {
    return m_ended_runs.load(std::memory_order_acquire);
  }

  // --- diagnosis
  /// Nothing runnable, nothing in flight, nobody outside promised anything.
  [[nodiscard]] bool is_quiescent() const noexcept { return is_quiescent_but_for(nullptr); }
  [[nodiscard]] std::uint64_t wakes() const noexcept {
    return m_board.wakes.load(std::memory_order_seq_cst);
  }
  /// Under the registry's lock: whether a hang was seen, but another runtime still ran.
  [[nodiscard]] bool take_suspicion() noexcept { return std::exchange(m_suspect, false); }
  [[nodiscard]] std::string describe_awaiters(bool quiescent = false) const;
  [[nodiscard]] std::string last_hang() const;
  /// Errors that wait to be thrown or printed, a line for each. Any thread.
  [[nodiscard]] std::string describe_waiting_errors() const;
  /// Whether `w` is one of our workers; never looks into it.
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
  /// The coroutines that workers run or have queued, a line for each.
  [[nodiscard]] std::string describe_running() const;
  void start_workers();
  void stop_workers() noexcept;
  /// What is in flight for `except` does not count.
  [[nodiscard]] bool is_quiescent_but_for(const poller* except) const noexcept;
  /// As is_quiescent, but sleeps may be left that the end of the runtime does not wait for. Under
  /// m_root_mutex.
  [[nodiscard]] bool is_at_rest() const noexcept;
  [[nodiscard]] bool hang_counts() const noexcept;
  void look_for_hang() noexcept;
  void announce_rest() noexcept;
  [[nodiscard]] bool release_resters() noexcept;
  /// False when tasks have been resumed, or may yet be by another runtime: the run goes on.
  [[nodiscard]] bool end_hung_run(bool waited_for) noexcept;
  [[nodiscard]] bool interrupt_leaves();
  /// False: coroutines that slept have been resumed.
  [[nodiscard]] bool end_sleeps() noexcept;
  static void make_ready(promise_base& c) noexcept;
  void fail_roots(const std::exception_ptr& error) noexcept;

  /// False: the run was ended, but something still runs.
  [[nodiscard]] bool drain() noexcept;
  void leave_behind() noexcept;
  void wait_for_rest(std::unique_lock<std::mutex>& lock, int& waiting);
  void await_visitors() const noexcept;
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
  spin_lock m_polling;                  // held while one thread polls, perhaps within driver calls
  mutable spin_lock m_pollers_lock;     // held to read the list without polling
  std::vector<poller*> m_pollers;       // changed under both locks
  std::atomic<bool> m_notified{false};  // raised by notify_pollers, lowered by the next poll

  mutable std::mutex m_root_mutex;
  std::condition_variable m_root_changed;
  std::vector<sync_root*> m_roots;  // blocked threads
  ready_list m_resters;             // coroutines that wait for quiescence
  int m_drains = 0;                 // 1 while the destructor waits
  int m_idle_waits = 0;             // threads in wait_idle()
  std::uint64_t m_rests = 0;        // how often the run came to rest while somebody waited for it
  int m_hangs = 0;                  // consecutive diagnoses
  int m_ended_sleeps = 0;           // how often the end of the runtime has cut sleeps short
  bool m_suspect = false;           // guarded by the registry's lock
  std::string m_hang_report;
  std::exception_ptr m_end;                    // by end_run, when nobody waited
  std::atomic<std::uint64_t> m_ended_runs{0};  // release: who sees it knows why the run ended
  bool m_run_ended = false;  // by end_run: that coroutines are left over is no news
  std::exception_ptr m_unhandled;

  std::atomic<long> m_external{0};  // external_work tokens
  // Written under m_root_mutex, where the hang diagnosis reads it; others only go by it.
  std::atomic<bool> m_is_connected{false};
  std::atomic<int> m_visitors{0};  // threads inside a `visit`

  std::atomic<std::uint64_t> m_chaos_state{0};
  // Recursive: a service may ask for others while it is made.
  std::recursive_mutex m_service_mutex;
  std::vector<service_entry> m_services;
  std::vector<std::type_index> m_services_in_making;
};

}  // namespace starling::detail
