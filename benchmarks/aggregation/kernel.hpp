// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/kernel.hpp>

namespace aggregation {

/// Returns a number after one step. The result depends on all earlier steps: a step that is left
/// out, repeated or out of order changes it.
constexpr std::uint64_t advanced(std::uint64_t value, std::uint64_t step) noexcept {
  return value * 6364136223846793005ULL + (step << 1) + 1;
}

/// Kernel: advances every number of a chain by one step.
struct advance {
  static constexpr const char* name = "advance";
  std::uint64_t* state;
  std::uint64_t step;

  constexpr void operator()(starling::index3 i) const { state[i.x] = advanced(state[i.x], step); }
};

}  // namespace aggregation
