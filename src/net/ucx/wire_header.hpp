// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../heartbeat/siphash.hpp"

namespace starling::detail {

/// Header in front of a message's bytes. The receiver handles messages of one sender in the order
/// of their positions. A large message, which UCX fetches after its header, may arrive out of
/// order.
struct wire_header {
  std::uint64_t code;  // `message_code(key, sender, receiver)`
  std::uint32_t from;
  std::uint32_t number;
  std::uint64_t position;
  std::uint64_t destroyed;  // credit: shares of the receiver's messages destroyed since the start
};
static_assert(sizeof(wire_header) == 32);

/// Returns the code in each message from one rank to another. Programs outside the job cannot
/// compute it: the key is random for each job and is distributed by the bootstrap.
[[nodiscard]] inline std::uint64_t message_code(const siphash_key& key, int from, int to) noexcept {
  constexpr std::uint64_t purpose = 1;
  const std::uint64_t words[] = {purpose, std::uint64_t(from), std::uint64_t(to)};
  return siphash(key, words);
}

/// Returns the code that is combined (exclusive or) with the tags of transfers to a rank, so that
/// messages of programs outside the job match none of its receives.
[[nodiscard]] inline std::uint64_t tag_code(const siphash_key& key, int to) noexcept {
  constexpr std::uint64_t purpose = 2;
  const std::uint64_t words[] = {purpose, std::uint64_t(to)};
  return siphash(key, words);
}

}  // namespace starling::detail
