// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <starling/core.hpp>

/// Damages bytes that a rank has sent, reproducibly by a seed.
namespace fuzz {

using bytes = std::vector<std::byte>;
using engine = std::mt19937_64;

/// Returns the value of STARLING_CHAOS, which `make fuzz` sets for each run, or 1.
inline std::uint64_t seed() {
  return starling::runtime_options::from_environment().chaos.value_or(1);
}

inline std::size_t below(engine& e, std::size_t limit) { return limit == 0 ? 0 : e() % limit; }

/// Returns a number that is likely to be at a limit: 0, 1, or near a power of two.
inline std::uint64_t number(engine& e) {
  const std::uint64_t power = std::uint64_t{1} << below(e, 64);
  const std::uint64_t some[] = {0, 1, power, power - 1, power + 1, ~power, e()};
  return some[below(e, std::size(some))];
}

inline void damage_once(bytes& b, engine& e) {
  const std::size_t at = below(e, b.size());
  const auto from = b.begin() + std::ptrdiff_t(at);
  const std::uint64_t n = number(e);
  const std::size_t sizes[] = {1, 2, 4, 8};
  const std::size_t size = std::min(sizes[below(e, 4)], b.size() - at);
  switch (below(e, 7)) {
    case 0:
      if (!b.empty()) b[at] ^= std::byte(1u << below(e, 8));
      break;
    case 1:  // at an aligned offset, as numbers are
      if (!b.empty()) std::memcpy(b.data() + at / 4 * 4, &n, std::min(size, b.size() - at / 4 * 4));
      break;
    case 2:
      if (!b.empty()) std::memcpy(b.data() + at, &n, size);
      break;
    case 3:
      b.resize(at);
      break;
    case 4:
      b.insert(from, below(e, 20), std::byte(e()));
      break;
    case 5:
      b.erase(from, from + std::ptrdiff_t(size));
      break;
    default:  // copies a range to another offset
      if (!b.empty()) {
        const std::size_t to = below(e, b.size());
        std::memmove(b.data() + to, b.data() + at, std::min({size, b.size() - at, b.size() - to}));
      }
  }
}

inline bytes damaged(bytes b, engine& e) {
  for (std::size_t n = 1 + below(e, 3); n > 0; --n) damage_once(b, e);
  return b;
}

}  // namespace fuzz
