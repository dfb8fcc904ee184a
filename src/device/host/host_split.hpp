// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/executor.hpp>

#include "host_operation.hpp"

namespace starling::detail {

/// The units of an operation from one on, shared out in chunks: the stream's strand takes part, and
/// tasks on other workers help, each of which calls for the next one only when it has found work.
class host_split final : public pooled<block_kind::state> {
 public:
  /// `strand` is scheduled by whoever finishes last, if it has left.
  host_split(const parallel_operation& work, std::int64_t first, std::int64_t grain,
             const executor& place, int most_helpers, promise_base& strand) noexcept;

  /// The strand's part: runs chunks until none is left to take.
  void take_part() noexcept;
  /// The strand suspends. False: all chunks are done, go on.
  [[nodiscard]] bool leave() noexcept { return !finish(1); }
  /// Whether all chunks are done and the strand has left or is not going to.
  [[nodiscard]] bool is_over() const noexcept {
    return m_unfinished.load(std::memory_order_acquire) == 0;
  }
  /// The first exception of a chunk; only when all are done.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_error; }
  /// Gives up a reference: the strand's, or a helper's.
  void release() noexcept;

 private:
  static task<void> help(host_split& split);
  void call_helper() noexcept;
  /// How many chunks it ran.
  [[nodiscard]] std::int64_t run_chunks() noexcept;
  void run_chunk(std::int64_t number) noexcept;
  [[nodiscard]] bool finish(std::int64_t parts) noexcept {
    // acq_rel: the last one sees what all chunks wrote.
    return m_unfinished.fetch_sub(parts, std::memory_order_acq_rel) == parts;
  }

  [[nodiscard]] std::int64_t begin_of(std::int64_t chunk) const noexcept;

  const parallel_operation* m_work;
  std::int64_t m_first;  // unit
  executor m_place;
  promise_base* m_strand;
  std::int64_t m_chunks;
  std::atomic<std::int64_t> m_next{0};     // first chunk nobody has taken
  std::atomic<std::int64_t> m_unfinished;  // chunks, and one for the strand until it leaves
  std::atomic<int> m_more_helpers;
  std::atomic<int> m_references{1};
  std::atomic<bool> m_failed{false};  // claimed by the first chunk that throws
  std::exception_ptr m_error;
};

}  // namespace starling::detail
