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

/// A stream of a collector, and the coroutine that launches on it what had to wait.
struct lane {
  stream queue;
  strand pump;
  // Under the collector's lock:
  std::size_t in_flight = 0;  // batches
  bool pumping = false;       // the pump is scheduled or runs
};

/// Where an aggregator's sequences of one priority gather.
///
/// A batch is gathering (in the queue, oldest first, and found by its shape), at work on a lane, or
/// unused. As long as one gathers, some lane is at work or its pump on the way, and who ends work
/// starts the pump: that is why nothing can be left behind. Owned by the device, because work may
/// outlive the aggregator.
class collector {
 public:
  /// @throws device_error
  collector(device& where, const aggregation& how, priority urgency);
  ~collector();
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  /// See the functions of the same names in aggregator.hpp.
  [[nodiscard]] bool commit(batch_member& m);
  [[nodiscard]] bool withdraw(batch_member& m) noexcept;
  void cancel(batch_member& m) noexcept;
  void keep() noexcept { m_keepers.fetch_add(1, std::memory_order_relaxed); }
  // Release: their last use of the collector precedes its end.
  void let_go() noexcept { m_keepers.fetch_sub(1, std::memory_order_release); }

  /// The work of a launched batch is over. Any thread.
  void finish(batch& b) noexcept;

  [[nodiscard]] device& where() const noexcept { return *m_device; }
  /// What errors call it.
  [[nodiscard]] const std::string& place() const noexcept { return m_place; }
  [[nodiscard]] aggregation_statistics statistics() const noexcept;
  /// No more commitments will come.
  void abandon() noexcept;
  /// Whether nobody will come, nothing is under way and no stop request can arrive.
  [[nodiscard]] bool is_abandoned() const noexcept;

 private:
  struct park_awaiter;
  static constexpr std::size_t chains = 64;

  strand run_pump(lane& l);
  /// What a pump launches next: the oldest batch as soon as there is room.
  [[nodiscard]] batch* next_for(lane& l) noexcept;
  /// False: its work is over already.
  bool launch(batch& b) noexcept;
  void trace(const batch& b) noexcept;
  // Under the lock:
  [[nodiscard]] batch& gathering_like(const batch_member& m);
  [[nodiscard]] batch& unused_batch();
  [[nodiscard]] lane& least_loaded() noexcept;
  [[nodiscard]] bool put_off() noexcept;
  [[nodiscard]] batch* depart(batch& b, lane& l) noexcept;
  void dequeue(batch& b) noexcept;
  void recycle(batch& b) noexcept;
  [[nodiscard]] bool remove(batch_member& m) noexcept;
  [[nodiscard]] bool has_room(const lane& l) const noexcept { return l.in_flight < m_how.depth; }
  /// True: the caller schedules the pump, once the lock is free.
  [[nodiscard]] bool start_pump(lane& l) noexcept;

  device* m_device;
  aggregation m_how;
  std::string m_place;
  std::mutex m_tracing;
  std::optional<std::uint32_t> m_track;  // of the trace, once that has begun; under m_tracing
  std::vector<std::unique_ptr<lane>> m_lanes;
  std::atomic<std::size_t> m_keepers{0};  // waits that a stop token may still end

  mutable spin_lock m_lock;
  bool m_abandoned = false;
  std::size_t m_lanes_with_room;
  std::vector<std::unique_ptr<batch>> m_batches;  // all
  batch* m_unused = nullptr;
  std::size_t m_in_use = 0;
  batch* m_oldest = nullptr;  // that gathers
  batch* m_newest = nullptr;
  std::array<batch*, chains> m_alike = {};  // those that gather, by hash
  aggregation_statistics m_counts;
};

}  // namespace starling::detail
