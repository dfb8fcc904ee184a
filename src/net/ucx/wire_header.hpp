// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../heartbeat/siphash.hpp"

namespace starling::detail {

/// What goes before a message's bytes. Messages of one rank come in the order of their positions;
/// large ones, which UCX asks for when their header is there, may be overtaken on the way.
struct wire_header {
  std::uint64_t code;  // of the sender for the receiver: `message_code`
  std::uint32_t from;
  std::uint32_t number;
  std::uint64_t position;
  std::uint64_t destroyed;  // of the receiver's messages to the sender, shares, since the start
};
static_assert(sizeof(wire_header) == 32);

/// What each message from one rank to another bears, and what no program can know that is no rank
/// of the job: the key is made for each job, and ranks get it on the way by which they meet.
[[nodiscard]] inline std::uint64_t message_code(const siphash_key& key, int from, int to) noexcept {
  constexpr std::uint64_t purpose = 1;
  const std::uint64_t words[] = {purpose, std::uint64_t(from), std::uint64_t(to)};
  return siphash(key, words);
}

/// What the tags of transfers to a rank are combined with (exclusive or), so that no program that
/// is no rank of the job can send memory to one that a rank waits for.
[[nodiscard]] inline std::uint64_t tag_code(const siphash_key& key, int to) noexcept {
  constexpr std::uint64_t purpose = 2;
  const std::uint64_t words[] = {purpose, std::uint64_t(to)};
  return siphash(key, words);
}

}  // namespace starling::detail
