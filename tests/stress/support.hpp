// SPDX-License-Identifier: Apache-2.0
// Random numbers and seeds of the stress tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <starling/core.hpp>

namespace starling_stress {

/// SplitMix64: a small seeded generator with the same sequence on every platform.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : m_state(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (m_state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, bound).
  int below(int bound) noexcept { return int(next() % std::uint64_t(bound)); }

 private:
  std::uint64_t m_state;
};

/// Returns the first seed of a process. STARLING_CHAOS changes it, so that a chaos run of this
/// program tries different problems.
inline std::uint64_t first_seed() {
  const char* chaos = std::getenv("STARLING_CHAOS");
  return chaos == nullptr ? 1 : 1000 * std::strtoull(chaos, nullptr, 0);
}

/// Returns the number of seeds that a calm run tries; under chaos, with one process per seed, 2.
inline std::uint64_t seeds(std::uint64_t calm) {
  return std::getenv("STARLING_CHAOS") == nullptr ? calm : 2;
}

inline starling::runtime_options options_for(std::uint64_t seed) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = 1 + unsigned(seed % 4);
  options.bind = starling::binding::none;
  return options;
}

}  // namespace starling_stress
