// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace starling::balance {

inline constexpr unsigned curve_bits = 21;  // of each coordinate: three make a 63-bit key

using cell = std::array<std::uint32_t, 3>;

/// Interleaves the bits of three coordinates, the first axis in front.
[[nodiscard]] inline std::uint64_t interleave(const cell& c) {
  std::uint64_t key = 0;
  for (unsigned b = curve_bits; b-- > 0;)
    for (const std::uint32_t x : c) key = key << 1 | (x >> b & 1);
  return key;
}

/// Changes the coordinates so that their interleaved bits are the position on a Hilbert curve:
/// J. Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707 (2004). From the coarsest
/// cells on, each level reflects or exchanges axes of the finer levels as the cell's place
/// requires.
[[nodiscard]] inline cell to_hilbert(cell c) {
  for (std::uint32_t level = 1U << (curve_bits - 1); level > 1; level >>= 1) {
    const std::uint32_t finer = level - 1;
    for (std::uint32_t& x : c) {
      if ((x & level) != 0) {
        c[0] ^= finer;
      } else {
        const std::uint32_t differing = (c[0] ^ x) & finer;
        c[0] ^= differing;
        x ^= differing;
      }
    }
  }
  // Gray code of the three axes.
  c[1] ^= c[0];
  c[2] ^= c[1];
  std::uint32_t flips = 0;
  for (std::uint32_t level = 1U << (curve_bits - 1); level > 1; level >>= 1)
    if ((c[2] & level) != 0) flips ^= level - 1;
  for (std::uint32_t& x : c) x ^= flips;
  return c;
}

}  // namespace starling::balance
