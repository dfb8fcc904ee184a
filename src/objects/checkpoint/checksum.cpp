// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace starling::detail {

struct checksum::state {
  XXH3_state_t xxh;
};

checksum::checksum() : m_state(std::make_unique<state>()) { reset(); }
checksum::checksum(checksum&&) noexcept = default;
checksum& checksum::operator=(checksum&&) noexcept = default;
checksum::~checksum() = default;

void checksum::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(&m_state->xxh, bytes.data(), bytes.size());
}

std::uint64_t checksum::value() const { return XXH3_64bits_digest(&m_state->xxh); }
void checksum::reset() { XXH3_64bits_reset(&m_state->xxh); }

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace starling::detail
