// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/message.hpp>

/// Access to slots between a writer and a reader of which at least one does not move 16 bytes at
/// once: between the host and a device, and on the host backend. The last eight bytes of a slot's
/// first unit show that the whole message is there.
namespace starling::resident::detail {

[[nodiscard]] constexpr std::uint64_t tail_of(std::uint32_t word, std::uint32_t sequence) noexcept {
  return std::uint64_t(sequence) << 32 | word;
}

/// The three words of a message that a unit carries.
struct unit_words {
  std::uint32_t word[3];
};

/// The messages taken from several slots in a poll, as seen by one lane.
struct some_taken {
  std::uint32_t count = 0;  // taken by all lanes
  std::uint32_t first = 0;  // the first slot that was taken
  std::uint32_t here = 0;   // 1: the lane's slot was taken, and this is the slot's first lane
};

// Templates, as all `constexpr` functions with a `reinterpret_cast` must be; `constexpr` makes them
// callable on a device.
template <class Message>
[[nodiscard]] constexpr unit_words words_of(const Message& m, int which) noexcept {
  return load_as<unit_words>(reinterpret_cast<const unsigned char*>(&m) + 12 * which);
}
template <class Message>
constexpr void set_words(Message& m, int which, const unit_words& words) noexcept {
  store_as(reinterpret_cast<unsigned char*>(&m) + 12 * which, words);
}
/// Returns the number of units of a message, read from its first unit; at most `units_per_slot`,
/// whatever the unit contains.
[[nodiscard]] constexpr int units_of(const unit_words& first) noexcept {
  const int units = units_of(std::size_t(first.word[1] >> 16 & 0xff));
  return units < units_per_slot ? units : units_per_slot;
}

/// Writes a message of `units` units as number `sequence`. `Memory::store_release` publishes it.
template <class Memory>
constexpr void put_flagged(slot& to, const message& m, int units, std::uint32_t sequence) noexcept {
  for (int u = 1; u < units; ++u) {
    const unit_words words = words_of(m, u);
    to.units[u].first = words.word[0];
    to.units[u].second = words.word[1];
    to.units[u].tail = words.word[2];
  }
  const unit_words words = words_of(m, 0);
  to.units[0].first = words.word[0];
  to.units[0].second = words.word[1];
  Memory::store_release(&to.units[0].tail, tail_of(words.word[2], sequence));
}

/// Returns whether message `sequence` is there. Relaxed: on a device an acquire empties the cache.
template <class Memory>
[[nodiscard]] constexpr bool has_come_flagged(const slot& from, std::uint32_t sequence) noexcept {
  return std::uint32_t(Memory::load(&from.units[0].tail) >> 32) == sequence;
}
/// Reads a message that is there.
template <class Memory>
constexpr void collect_flagged(const slot& from, message& m) noexcept {
  const std::uint64_t tail = Memory::load_acquire(&from.units[0].tail);
  const unit_words first = {{from.units[0].first, from.units[0].second, std::uint32_t(tail)}};
  set_words(m, 0, first);
  const int units = units_of(first);
  for (int u = 1; u < units; ++u)
    set_words(m, u,
              {{from.units[u].first, from.units[u].second, std::uint32_t(from.units[u].tail)}});
}

}  // namespace starling::resident::detail
