// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// One round of a thread that spins: leaves the core's units to its sibling and the bus to the
/// thread that it waits for. Some ten to fifty nanoseconds.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` does nothing on most cores
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace starling::detail
