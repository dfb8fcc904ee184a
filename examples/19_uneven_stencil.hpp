// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/types.hpp>

/// Returns the next value of a cell; `work` lengthens the computation.
constexpr std::uint64_t mixed(std::uint64_t left, std::uint64_t here, std::uint64_t right,
                              int work) {
  std::uint64_t value = 3 * left + here + 5 * right;
  for (int i = 0; i < work; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

/// Kernel: the next values of a piece, which has one more cell at each end.
struct update {
  static constexpr const char* name = "update";
  const std::uint64_t* now;
  std::uint64_t* next;
  int work;
  constexpr void operator()(starling::index3 i) const {
    next[i.x + 1] = mixed(now[i.x], now[i.x + 1], now[i.x + 2], work);
  }
};
