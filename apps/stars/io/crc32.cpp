// SPDX-License-Identifier: Apache-2.0
#include "io/crc32.hpp"

#include <array>

namespace stars {

namespace {

constexpr std::uint32_t polynomial = 0xedb88320u;  // lowest bit first
constexpr std::size_t step = 8;                    // bytes in one round of the main loop

using table = std::array<std::uint32_t, 256>;

/// Returns, in table k, the remainder of each byte followed by k zero bytes.
constexpr std::array<table, step> make_tables() {
  std::array<table, step> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1u) * polynomial;
    tables[0][byte] = rest;
  }
  for (std::size_t k = 1; k < step; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xffu];
    }
  return tables;
}

constexpr std::array<table, step> tables = make_tables();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) noexcept {
  std::uint32_t rest = ~0u;
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  for (; bytes.size() >= step; bytes = bytes.subspan(step)) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < step; ++i) {
      const std::uint32_t mixed = at(i) ^ (i < 4 ? rest >> 8 * i & 0xffu : 0u);
      next ^= tables[step - 1 - i][mixed];
    }
    rest = next;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    rest = rest >> 8 ^ tables[0][(rest ^ at(i)) & 0xffu];
  return ~rest;
}

}  // namespace stars
