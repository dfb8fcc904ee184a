// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

class scheduler_impl;

/// Returns the suspended coroutines of a quiescent scheduler that are to be resumed with
/// hang_error: those whose wait only user code could end. If there are none (tasks wait for each
/// other in a circle), returns one coroutine of the circle.
[[nodiscard]] std::vector<promise_base*> hung_coroutines(const scheduler_impl& owner);

/// Withdraws the suspended coroutines of `owner` from the objects that they await, and hides them
/// from later walks: they could not be unwound. Their frames are never freed. Called inside a walk,
/// while all runtimes are quiescent.
void abandon_frames(const scheduler_impl& owner) noexcept;

/// @throws usage_error naming fork if `runtime_registry::is_forked_copy`
void refuse_forked_copy();
/// Ends the process with a message if a task has forked and this is the child. Called by a worker
/// that has left its loop.
void end_forked_worker() noexcept;

/// Prints "starling: <what>: <message>" on stderr.
void report_to_stderr(const std::exception_ptr& error, const char* what) noexcept;

/// The runtimes of the process. A run is hung only if no other runtime can still make one of its
/// coroutines ready; `SIGQUIT` prints the suspended coroutines of all runtimes. Never destroyed.
class runtime_registry {
 public:
  static runtime_registry& instance() noexcept;

  /// Adds a runtime; the first installs the SIGQUIT handler, unless the program has its own.
  void add(scheduler_impl& s);
  /// Removes a runtime. `leaves_it_behind`: its workers did not end, so `s` is not destroyed and is
  /// kept in a list for leak checkers.
  void remove(scheduler_impl& s, bool leaves_it_behind = false) noexcept;

  /// Returns whether this process was made by fork while its parent had a runtime: the workers, and
  /// locks that they held, are lost, so that no runtime can be used.
  [[nodiscard]] static bool is_forked_copy() noexcept {
    // Relaxed: written when the process has one thread.
    return s_is_forked_copy.load(std::memory_order_relaxed);
  }

  /// A walk over the frames. During it, workers that wake wait in `let_walk_end`, so that frames do
  /// not change.
  class walk {
   public:
    walk() noexcept { instance().m_walking.store(true, std::memory_order_seq_cst); }
    ~walk() { instance().m_walking.store(false, std::memory_order_seq_cst); }

   private:
    std::lock_guard<std::mutex> m_lock{instance().m_mutex};
  };
  static void let_walk_end() noexcept;

  /// Returns whether all runtimes are quiescent. Called inside a walk.
  [[nodiscard]] bool all_quiescent() const noexcept;
  /// Makes the other runtimes that suspect a hang check again, because all workers of `s` are now
  /// asleep.
  void became_quiescent(const scheduler_impl& s) noexcept;

  void print_awaiters() noexcept;

 private:
  runtime_registry();
  void before_fork() noexcept;
  void after_fork() noexcept;
  void begin_child() noexcept;

  inline static std::atomic<bool> s_is_forked_copy{false};
  std::mutex m_mutex;
  std::vector<scheduler_impl*> m_runtimes;  // guarded by m_mutex
  std::vector<scheduler_impl*> m_left_behind;
  std::atomic<std::size_t> m_count{0};  // the size of m_runtimes
  std::atomic<bool> m_walking{false};
};

}  // namespace starling::detail
