// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// A thief's last reading of a worker's progress.
struct progress_reading {
  std::uint64_t resumed = 0;
  std::uint64_t since = 0;  // ns: time at which that number was first read
};

/// Counters of a worker since its start. Written by the worker, read by any thread.
struct worker_counters {
  std::atomic<std::uint64_t> resumed{0};
  std::atomic<std::uint64_t> stolen{0};
  std::atomic<std::uint64_t> slept{0};
  std::atomic<std::uint64_t> polled{0};

  /// Returns whether the worker has resumed nothing for 2 µs at the time `now`, by the thief's last
  /// reading `seen`. Rarely reads the counter, because each reading moves the cache line from the
  /// worker's core.
  [[nodiscard]] bool stands_still(progress_reading& seen, std::uint64_t now) const noexcept {
    if (now - seen.since < 2000) return false;
    const std::uint64_t count = resumed.load(std::memory_order_relaxed);
    if (count == seen.resumed) return true;
    seen = {count, now};
    return false;
  }
};

inline void bump(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace starling::detail
