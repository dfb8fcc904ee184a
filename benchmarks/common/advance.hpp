// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/kernel.hpp>

namespace starling::bench {

/// Returns a number after one step. The result depends on all earlier steps.
constexpr std::uint64_t advanced(std::uint64_t value) noexcept {
  return value * 6364136223846793005ULL + 1442695040888963407ULL;
}

/// Kernel: advances every number by `rounds` steps, one after the other.
struct advance {
  static constexpr const char* name = "advance";
  std::uint64_t* state;
  int rounds;

  constexpr void operator()(index3 i) const {
    std::uint64_t value = state[i.x];
    for (int r = 0; r < rounds; ++r) value = advanced(value);
    state[i.x] = value;
  }
};

}  // namespace starling::bench
