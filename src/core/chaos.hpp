// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::detail {

/// Small seeded generator (SplitMix64, Steele et al. 2014) for chaos mode.
class chaos_source {
 public:
  explicit chaos_source(std::uint64_t seed) noexcept : m_state(seed) {}

  [[nodiscard]] static std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;

  /// Returns a random number, 0 … bound−1.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept {
    return std::uint32_t((mix(m_state += step) >> 32) * bound >> 32);
  }

 private:
  std::uint64_t m_state;
};

}  // namespace starling::detail
