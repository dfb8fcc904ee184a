// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as bits: random values, and checksums and norms that do not depend on the order of work.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace apps {

/// Mixes the bits of a number: any change of `v` changes half of the result's bits on average.
constexpr std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;  // the finaliser of splitmix64 (Steele et al. 2014)
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

/// Returns a uniform number in [0, 1) for a seed and a cell, with as many random bits as a `Real`
/// holds.
template <std::floating_point Real = double>
constexpr Real random_value(std::uint64_t seed, std::uint64_t cell) {
  const std::uint64_t bits = mixed(mixed(seed) + cell);
  if constexpr (std::is_same_v<Real, float>)
    return static_cast<float>(bits >> 40) * 0x1p-24f;
  else
    return static_cast<Real>(bits >> 11) * 0x1p-53;
}

/// Returns the contribution of a cell to the checksum of a grid. The checksum is the sum of all
/// contributions modulo 2^64: it is equal for any order and any decomposition, and differs if a bit
/// of a cell differs.
template <std::floating_point Real>
constexpr std::uint64_t checksum_of(Real value, std::uint64_t cell) {
  using bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  return mixed(std::bit_cast<bits>(value) ^ mixed(cell + 1));
}

/// The value type of reductions. The bit pattern of a double without its sign bit grows with its
/// magnitude, and the pattern of a NaN is larger than that of any number.
using pattern = std::uint64_t;
constexpr pattern magnitude(double v) { return std::bit_cast<pattern>(v) & (~pattern{0} >> 1); }
/// Returns the double whose `magnitude` was `largest`: the inverse of `magnitude`.
constexpr double norm_of(pattern largest) { return std::bit_cast<double>(largest); }

struct largest {
  constexpr pattern operator()(pattern a, pattern b) const { return a < b ? b : a; }
};
struct sum {
  constexpr pattern operator()(pattern a, pattern b) const { return a + b; }
};

}  // namespace apps
