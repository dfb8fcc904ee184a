// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/core/detail/spin_patience.hpp>
#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// Pause after the theft of a tiny task: the cache misses of such a theft on both cores cost more
/// time than it saves. The pause doubles with each such theft.
class theft_pause {
 public:
  [[nodiscard]] bool is_over(std::uint64_t now) const noexcept { return now >= m_end; }
  /// Records a theft at the time `now`.
  void stolen(std::uint64_t now) noexcept { m_theft = now; }
  /// Begins a pause if the worker has already run all work since its last theft.
  void ran_out(std::uint64_t now) noexcept;

 private:
  std::uint64_t m_theft = 0;   // ns: time of the last theft; 0: none since the worker was idle
  std::uint64_t m_length = 0;  // ns
  std::uint64_t m_end = 0;     // ns
};

/// A worker without work: it polls, steals and sleeps. Called by this worker only.
///
///                       found
///      +-------------------------------------+
///      v                                     |
///    busy -- none --> await_message --> searching -- none --> announced -- none --> asleep
///      ^                                     ^                    |                   |
///      |                                     | none           in sight        woken, alarm, help
///      |                                     |                    v                   |
///      +------- found in own queues ------ awake <----------------+-------------------+
///
/// `await_message` follows the end of a search with pinned work only. `searching` is counted on the
/// board; in a `theft_pause` it steals nothing. `announced` and `asleep` are counted as sleeping. A
/// worker that finds work in its own queues when it awakes lets another worker search in its place.
class alignas(64) worker_idle {
 public:
  explicit worker_idle(worker& self);

  /// Searches for work, and sleeps until there is some. `begin`: the current time. Returns null
  /// when the scheduler stops.
  promise_base* find_work(std::uint64_t begin) noexcept;

 private:
  promise_base* look_around() noexcept;
  promise_base* await_message() noexcept;
  promise_base* spin() noexcept;
  promise_base* search() noexcept;
  promise_base* steal_from_any() noexcept;
  bool sleep() noexcept;  // returns whether this worker was the watcher
  void sleep_until_woken(bool fenced) noexcept;
  void hand_over(bool watched) noexcept;
  bool end_watch() noexcept;
  [[nodiscard]] bool any_needs_help() noexcept;
  [[nodiscard]] bool may_sleep() const noexcept;
  [[nodiscard]] std::uint64_t wake_up_time(bool fenced) const noexcept;
  [[nodiscard]] std::uint64_t spin_ns() const noexcept;  // the option `spin_us` in ns

  worker& m_self;
  scheduler_impl& m_owner;
  idle_board& m_board;
  std::vector<progress_reading> m_seen;  // last reading of each worker's progress
  theft_pause m_pause;
  spin_patience m_patience;        // used in a runtime connected to other processes
  bool m_awaits_messages = false;  // the last search ended with work pinned to this worker
};

}  // namespace starling::detail
