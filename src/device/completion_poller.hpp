// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <starling/core/runtime.hpp>
#include <starling/core/scheduler.hpp>

#include "stream_state.hpp"

namespace starling::detail {

/// Looks after all streams of a runtime that somebody waits for: finds completions by word and by
/// event, and device errors of streams that make no progress. A poll costs one load per watched
/// stream; a stream is watched while it has waiters and its backend does not notify by itself.
class completion_poller final : public poller {
 public:
  /// Without progress for this long a stream's device is asked for errors.
  static constexpr std::uint64_t stall_ns = 100'000'000;

  /// `must_poll`: completions are seen only here, so some worker has to stay awake for them.
  completion_poller(runtime& owner, bool must_poll) noexcept
      : m_owner(&owner), m_must_poll(must_poll) {}
  ~completion_poller() override;

  void poll(ready_list& ready) noexcept override;
  [[nodiscard]] std::size_t in_flight() const noexcept override;
  [[nodiscard]] bool needs_polling() const noexcept override;
  [[nodiscard]] std::uint64_t next_deadline() const noexcept override;

  /// Any thread: watch `s`, which is not watched now.
  void watch(stream_state& s) noexcept;
  /// Any thread: count the waiters of `s` as work in flight, for ever.
  void enroll(stream_state& s);

  [[nodiscard]] std::uint64_t stall_queries() const noexcept {
    return m_stall_queries.load(std::memory_order_relaxed);
  }

 private:
  struct enrolled {
    stream_state* stream;
    enrolled* next;
  };

  runtime* m_owner;
  bool m_must_poll;
  // Stack of streams that got their first waiter. Push: release, so that the poll which takes the
  // stack (acquire) sees the link.
  std::atomic<stream_state*> m_arrived{nullptr};
  stream_state* m_watched = nullptr;  // the polling thread's
  // Streams in both lists. Sequentially consistent with the sleepers' board: a worker that goes to
  // sleep after the count rose sees it.
  std::atomic<std::size_t> m_watch_count{0};
  std::atomic<enrolled*> m_enrolled{nullptr};  // grows only
  std::atomic<std::uint64_t> m_stall_queries{0};
};

}  // namespace starling::detail
