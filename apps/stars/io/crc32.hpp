// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stars {

/// Returns the CRC-32 of IEEE 802.3, that of zlib and Python's `zlib.crc32`. It detects every
/// change within 32 adjacent bits.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes) noexcept;

}  // namespace stars
