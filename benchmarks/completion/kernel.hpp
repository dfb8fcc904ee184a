// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/kernel.hpp>

namespace completion {

/// Returns a number after one step. The result depends on all earlier steps: a step that is left
/// out, repeated or out of order changes it.
constexpr std::uint64_t advanced(std::uint64_t value, std::uint64_t step, int rounds) noexcept {
  for (int r = 0; r < rounds; ++r)
    value = value * 6364136223846793005ULL + (step << 8) + static_cast<std::uint64_t>(r) + 1;
  return value;
}

/// Kernel: advances every number of a stream by one step. Unless `told` is null, it finally stores
/// the step to `told`, in memory that the host reads while the kernel runs: the time of its end.
struct advance {
  static constexpr const char* name = "advance";
  static constexpr int host_grain = 1 << 20;  // runs as one task

  std::uint64_t* state;
  std::uint64_t step;
  int rounds;
  volatile std::uint64_t* told;  // or null

  constexpr void operator()(starling::index3 i) const {
    state[i.x] = advanced(state[i.x], step, rounds);
    if (told != nullptr && i.x == 0) *told = step;
  }
};

}  // namespace completion
