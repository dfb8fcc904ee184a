// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

class scheduler_impl;

/// Suspended coroutines of a quiescent scheduler that can be resumed early with hang_error: those
/// that wait for something only user code could do. When there are none (tasks wait for each other
/// in a circle), one of the circle.
[[nodiscard]] std::vector<promise_base*> hung_coroutines(const scheduler_impl& owner);

/// Inside a walk, when all runtimes rest: takes the coroutines of `owner`, which could not be
/// unwound, back from what they await and hides them from later walks. Their frames are never
/// freed.
void abandon_frames(const scheduler_impl& owner) noexcept;

/// @throws usage_error naming fork where `runtime_registry::is_forked_copy`
void refuse_forked_copy();
/// For a worker that ends: in the child of a fork by a task, ends the process with a message.
void end_forked_worker() noexcept;

/// Prints "starling: <what>: <message>" on stderr.
void report_to_stderr(const std::exception_ptr& error, const char* what) noexcept;

/// The live runtimes of the process. A run is hung only when no other runtime could still make
/// something ready for it; `SIGQUIT` prints the awaiters of them all. Lives for ever.
class runtime_registry {
 public:
  static runtime_registry& instance() noexcept;

  /// Installs the SIGQUIT handler with the first runtime, unless the program has one of its own.
  void add(scheduler_impl& s);
  /// `leaves_it_behind`: its workers did not end; `s` lives on where leak checkers find it.
  void remove(scheduler_impl& s, bool leaves_it_behind = false) noexcept;

  /// Whether this process was made by fork while its parent had a runtime: workers, and locks that
  /// they held, are lost, so that nothing of a runtime can be used.
  [[nodiscard]] static bool is_forked_copy() noexcept {
    // Relaxed: written when the process has one thread.
    return s_is_forked_copy.load(std::memory_order_relaxed);
  }

  /// While one exists, workers that wake wait in `let_walk_end`, so that frames stay as they are.
  class walk {
   public:
    walk() noexcept;
    ~walk();
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;
  };
  static void let_walk_end() noexcept;

  /// Inside a walk: whether no runtime can do anything.
  [[nodiscard]] bool all_quiescent() const noexcept;
  /// All workers of `s` sleep: runtimes that suspect a hang may look again.
  void came_to_rest(const scheduler_impl& s) noexcept;

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
  std::atomic<std::size_t> m_count{0};  // its size
  std::atomic<bool> m_walking{false};
};

}  // namespace starling::detail
