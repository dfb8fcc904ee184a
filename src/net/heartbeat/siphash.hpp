// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace starling::detail {

using siphash_key = std::array<std::uint64_t, 2>;

/// Returns the SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of
/// whole words. It cannot be computed without the key.
[[nodiscard]] inline std::uint64_t siphash(const siphash_key& key,
                                           std::span<const std::uint64_t> words) noexcept {
  std::uint64_t a = key[0] ^ 0x736f6d6570736575u, b = key[1] ^ 0x646f72616e646f6du;
  std::uint64_t c = key[0] ^ 0x6c7967656e657261u, d = key[1] ^ 0x7465646279746573u;
  const auto round = [&] {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  };
  const auto take = [&](std::uint64_t word) {
    d ^= word;
    round(), round();
    a ^= word;
  };
  for (const std::uint64_t word : words) take(word);
  take(std::uint64_t(words.size() * sizeof(std::uint64_t)) << 56);
  c ^= 0xff;
  round(), round(), round(), round();
  return a ^ b ^ c ^ d;
}

}  // namespace starling::detail
