// SPDX-License-Identifier: Apache-2.0
#include "futex.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace starling::detail {

static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

void futex_wait(std::atomic<int>& word, int expected, std::uint64_t deadline_ns) noexcept {
  timespec at{time_t(deadline_ns / 1000000000), long(deadline_ns % 1000000000)};
  // WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which is libstdc++'s steady clock.
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected,
          deadline_ns == 0 ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(std::atomic<int>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool can_barrier() noexcept {
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered;
}

bool process_barrier() noexcept {
  return can_barrier() && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace starling::detail
