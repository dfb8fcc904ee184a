// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/core/trace.hpp>

namespace starling::detail {

/// The processor's clock: constant but unknown rate, a few ns for a reading.
struct tick_clock {
  [[nodiscard]] static std::uint64_t now() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return tracer::now();
#endif
  }
};

}  // namespace starling::detail
