// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/device/aggregator.hpp>
#include <starling/device/stream.hpp>

#include "batch.hpp"
#include "strand.hpp"

namespace starling::detail {

class collector;

/// A stream of a collector and its pump, the coroutine that launches waiting batches on the stream.
struct pumped_stream {
  stream queue;
  strand pump;
  // Guarded by the collector's lock:
  std::size_t in_flight = 0;  // batches launched and not completed
  bool pumping = false;       // the pump is scheduled or runs
};

/// Gathers an aggregator's sequences of one priority into batches.
///
/// A batch is gathering (in the queue, oldest first, and in a hash chain by its shape), in flight
/// on a stream, or unused. Invariant: while a batch gathers, at least one stream has a batch in
/// flight or a scheduled pump. A completion starts the pump if a batch gathers, so every batch is
/// launched eventually. Owned by the device, because work may outlive the aggregator.
class collector {
 public:
  /// @throws device_error
  collector(starling::device& target, const aggregation& how, starling::priority priority);
  ~collector();
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  /// As the free functions `commit`, `withdraw`, `cancel`, `keep_collector` and `let_collector_go`,
  /// which aggregator.hpp describes.
  [[nodiscard]] bool commit(batch_member& m);
  [[nodiscard]] bool withdraw(batch_member& m) noexcept;
  void cancel(batch_member& m) noexcept;
  void keep() noexcept { m_keepers.fetch_add(1, std::memory_order_relaxed); }
  // Release: a keeper's last use of the collector happens before its destruction.
  void let_go() noexcept { m_keepers.fetch_sub(1, std::memory_order_release); }

  /// Completes a launched batch: notifies its members, recycles it, starts the pump. Any thread.
  void finish(batch& b) noexcept;

  [[nodiscard]] starling::device& device() const noexcept { return *m_device; }
  /// Name of the collector in errors.
  [[nodiscard]] const std::string& name() const noexcept { return m_name; }
  [[nodiscard]] aggregation_statistics statistics() const noexcept;
  /// Records that no more sequences will be committed.
  void abandon() noexcept;
  /// Returns whether the collector may be destroyed: it is abandoned, no batch is in use, no pump
  /// runs and no stop request is possible.
  [[nodiscard]] bool is_abandoned() const noexcept;

 private:
  struct park_awaiter;
  static constexpr std::size_t chains = 64;

  strand run_pump(pumped_stream& s);
  /// Returns the batch that the pump launches next: the oldest; null if none or the stream is full.
  [[nodiscard]] batch* next_for(pumped_stream& s) noexcept;
  /// Submits a batch that was removed from the queue. Returns false when its work is over already.
  bool launch(batch& b) noexcept;
  void trace(const batch& b) noexcept;
  // Called under the lock:
  [[nodiscard]] batch& gathering_like(const batch_member& m);
  [[nodiscard]] batch& unused_batch();
  [[nodiscard]] pumped_stream& least_loaded() noexcept;
  [[nodiscard]] bool put_off() noexcept;
  [[nodiscard]] batch* depart(batch& b, pumped_stream& s) noexcept;
  void dequeue(batch& b) noexcept;
  void recycle(batch& b) noexcept;
  [[nodiscard]] bool remove(batch_member& m) noexcept;
  [[nodiscard]] bool has_room(const pumped_stream& s) const noexcept {
    return s.in_flight < m_how.depth;
  }
  /// Returns true when the caller must schedule the pump, after it has released the lock.
  [[nodiscard]] bool start_pump(pumped_stream& s) noexcept;

  starling::device* m_device;
  aggregation m_how;
  std::string m_name;
  std::mutex m_tracing;
  std::optional<std::uint32_t> m_track;  // opened for the first span; guarded by m_tracing
  std::vector<std::unique_ptr<pumped_stream>> m_streams;
  std::atomic<std::size_t> m_keepers{0};  // waits that a stop token may still cancel

  mutable spin_lock m_lock;  // guards the members below
  bool m_abandoned = false;
  std::size_t m_streams_with_room;
  std::vector<std::unique_ptr<batch>> m_batches;  // owns all batches
  batch* m_unused = nullptr;
  std::size_t m_in_use = 0;
  batch* m_oldest = nullptr;  // of the gathering batches
  batch* m_newest = nullptr;
  std::array<batch*, chains> m_alike = {};  // chains of gathering batches, by hash of the shape
  aggregation_statistics m_counts;
};

}  // namespace starling::detail
