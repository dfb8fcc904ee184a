// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/executor.hpp>

#include "host_operation.hpp"

namespace starling::detail {

/// The units of an operation from `first` on, divided into chunks. The stream's strand and helper
/// tasks on other workers run them. A helper posts the next helper only while chunks remain.
class host_split final : public pooled<block_kind::state> {
 public:
  /// `strand` is scheduled by the helper that finishes the last chunk, if the strand has left.
  host_split(const parallel_operation& work, std::int64_t first, std::int64_t grain,
             const executor& helpers, int most_helpers, promise_base& strand) noexcept;

  /// Runs chunks on the strand until none is left to take.
  void take_part() noexcept;
  /// Records that the strand suspends. Returns false when all chunks are done: it must continue.
  [[nodiscard]] bool leave() noexcept { return !finish(1); }
  /// Returns whether all chunks are done and the strand has left or will not suspend.
  [[nodiscard]] bool is_over() const noexcept {
    return m_unfinished.load(std::memory_order_acquire) == 0;
  }
  /// The first exception of a chunk, or null. Valid when all chunks are done.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_error; }
  /// Releases a reference, of the strand or of a helper.
  void release() noexcept;

 private:
  static task<void> help(host_split& split);
  void call_helper() noexcept;
  /// Runs chunks until none is left to take. Returns the number of chunks run.
  [[nodiscard]] std::int64_t run_chunks() noexcept;
  void run_chunk(std::int64_t number) noexcept;
  [[nodiscard]] bool finish(std::int64_t parts) noexcept {
    // acq_rel: after the last decrement the writes of all chunks are visible.
    return m_unfinished.fetch_sub(parts, std::memory_order_acq_rel) == parts;
  }

  [[nodiscard]] std::int64_t begin_of(std::int64_t chunk) const noexcept;

  const parallel_operation* m_work;
  std::int64_t m_first;  // unit
  executor m_executor;
  promise_base* m_strand;
  std::int64_t m_chunks;
  std::atomic<std::int64_t> m_next{0};     // first chunk that is not taken
  std::atomic<std::int64_t> m_unfinished;  // chunks not done, plus 1 until the strand leaves
  std::atomic<int> m_more_helpers;         // helpers that may still be posted
  std::atomic<int> m_references{1};
  std::atomic<bool> m_failed{false};  // claimed by the first chunk that throws
  std::exception_ptr m_error;
};

}  // namespace starling::detail
