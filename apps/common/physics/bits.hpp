// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as bits: values at random, checksums and norms that no order of work changes.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace apps {

/// Mixes the bits of a number: any change of it changes half of them.
constexpr std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;  // the finaliser of splitmix64 (Steele et al. 2014)
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

/// A uniform number in [0, 1) that belongs to a cell and a seed: as many bits as a `Real` holds.
template <std::floating_point Real = double>
constexpr Real random_value(std::uint64_t seed, std::uint64_t cell) {
  const std::uint64_t bits = mixed(mixed(seed) + cell);
  if constexpr (std::is_same_v<Real, float>)
    return static_cast<float>(bits >> 40) * 0x1p-24f;
  else
    return static_cast<Real>(bits >> 11) * 0x1p-53;
}

/// What a cell adds to the checksum of a grid, which is the sum of all modulo 2^64: in any order
/// and for any decomposition the same, and another one as soon as a bit of a cell is.
template <std::floating_point Real>
constexpr std::uint64_t checksum_of(Real value, std::uint64_t cell) {
  using bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  return mixed(std::bit_cast<bits>(value) ^ mixed(cell + 1));
}

/// What reductions combine: the pattern of a double without its sign bit grows with its magnitude
/// (and one that is not a number is larger than all others).
using pattern = std::uint64_t;
constexpr pattern magnitude(double v) { return std::bit_cast<pattern>(v) & (~pattern{0} >> 1); }
/// What `magnitude` was made from, or the largest of several.
constexpr double norm_of(pattern largest) { return std::bit_cast<double>(largest); }

struct largest {
  constexpr pattern operator()(pattern a, pattern b) const { return a < b ? b : a; }
};
struct sum {
  constexpr pattern operator()(pattern a, pattern b) const { return a + b; }
};

}  // namespace apps
