// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Pauses a spinning thread for some ten to fifty nanoseconds: leaves execution units to the other
/// hardware thread of the core, and memory bandwidth to the awaited thread.
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
