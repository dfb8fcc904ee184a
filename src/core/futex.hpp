// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// Sleeps while `word` is `expected`; returns on a wake, on a change, at the steady-clock time
/// `deadline_ns` (0: never), or spuriously.
void futex_wait(std::atomic<int>& word, int expected, std::uint64_t deadline_ns) noexcept;
void futex_wake(std::atomic<int>& word) noexcept;

/// Executes a full memory barrier on every running thread of the process, so that the other threads
/// in a store-load race need no barrier. False if the kernel cannot; workers then sleep in short
/// naps.
[[nodiscard]] bool process_barrier() noexcept;
[[nodiscard]] bool can_barrier() noexcept;

}  // namespace starling::detail
