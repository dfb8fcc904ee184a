// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <starling/core/poller.hpp>
#include <starling/core/runtime.hpp>

#include "stream_state.hpp"

namespace starling::detail {

/// Polls the streams of a runtime that have waiters: finds completions by word and event, and
/// device errors of streams without progress. A poll costs one load per watched stream. A stream is
/// watched while it has waiters, unless its backend notifies for each mark.
class completion_poller final : public poller {
 public:
  /// When a stream has made no progress for this time, its device is queried for errors.
  static constexpr std::uint64_t stall_ns = 100'000'000;

  /// `must_poll`: completions are found only by polling, so a worker must stay awake for them.
  completion_poller(runtime& owner, bool must_poll) noexcept
      : m_owner(&owner), m_must_poll(must_poll) {}

  void poll(ready_list& ready) noexcept override;
  [[nodiscard]] std::size_t in_flight() const noexcept override;
  [[nodiscard]] bool needs_polling() const noexcept override;
  [[nodiscard]] std::uint64_t next_deadline() const noexcept override;

  /// Starts watching `s`, which must not be watched. Any thread.
  void watch(stream_state& s) noexcept;
  /// Counts the waiters of `s` as work in flight from now on. Any thread.
  void enroll(stream_state& s) noexcept;

  [[nodiscard]] std::uint64_t stall_queries() const noexcept {
    return m_stall_queries.load(std::memory_order_relaxed);
  }

 private:
  runtime* m_owner;
  bool m_must_poll;
  // Stack of streams that got their first waiter. A push releases and the poll that takes the stack
  // acquires, so that the links are visible.
  std::atomic<stream_state*> m_arrived{nullptr};
  stream_state* m_watched = nullptr;  // accessed by the polling thread only
  // Number of streams in both lists. Sequentially consistent with the board of sleeping workers: a
  // worker that falls asleep after an increment reads the new count.
  std::atomic<std::size_t> m_watch_count{0};
  std::atomic<stream_state*> m_enrolled{nullptr};  // grows only
  std::atomic<std::uint64_t> m_stall_queries{0};
};

}  // namespace starling::detail
