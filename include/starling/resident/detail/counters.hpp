// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>

/// Counters for which entry methods of elements wait. Used by the leader of a group only.
namespace starling::resident::detail {

inline constexpr std::uint8_t arrival_bytes = 8;

/// Returns the counter at the given offset of an element. A template, as any `constexpr` function
/// with a `reinterpret_cast` must be; `constexpr` makes it callable on a device.
template <class Chare>
[[nodiscard]] constexpr counter_state& counter_at(Chare& object, std::uint32_t offset) noexcept {
  return *reinterpret_cast<counter_state*>(reinterpret_cast<std::byte*>(&object) + offset);
}

/// Returns the offset of a counter in its element.
template <class Element>
[[nodiscard]] constexpr std::uint32_t offset_in(const Element& self, const counter* of) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<const std::byte*>(of) -
                                    reinterpret_cast<const std::byte*>(&self));
}

/// Returns the counter that an arrival message counts for.
template <class Chare>
[[nodiscard]] constexpr counter_state& counter_of(Chare& object, const message& arrival) noexcept {
  return counter_at(object, read_at<std::uint32_t>(arrival, 0));
}

/// Makes the entry method `c.then` run when `wanted` arrivals have been counted.
constexpr void arm(element_state& e, counter_state& c, std::uint32_t wanted) noexcept {
  c.wanted = wanted;
  c.next = e.armed;
  e.armed = &c;
}

/// Writes an arrival message for the counter at offset `counter` of an element.
constexpr void write_arrival(message& m, std::uint32_t array, std::uint32_t slot,
                             std::uint32_t counter, std::uint32_t how_many) noexcept {
  message_head head;
  head.target = slot;
  head.array = static_cast<std::uint8_t>(array);
  head.bytes = arrival_bytes;
  head.set(message_kind::arrival);
  set_head(m, head);
  write_at(m, 0, counter);
  write_at(m, 4, how_many);
}

/// Records the first message of an element's stash, for diagnosis.
constexpr void note_stash(element_state& e) noexcept {
  if (e.stash.empty()) return;
  e.stash_number = e.stash.first->reference;
  e.stash_entry = e.stash.first->m.entry;
}

/// Counts arrivals. Returns whether the entry method `c.then` is to run now; the counter has no
/// waiter from then on.
[[nodiscard]] constexpr bool count_for(element_state& e, counter_state& c,
                                       std::uint32_t how_many) noexcept {
  const std::uint32_t arrived = c.arrived + how_many, wanted = c.wanted;
  const bool has_all = wanted != 0 && arrived >= wanted;
  c.arrived = has_all ? arrived - wanted : arrived;
  if (!has_all) return false;
  c.wanted = 0;
  counter_state** link = &e.armed;
  while (*link != nullptr && *link != &c) link = &(*link)->next;
  if (*link != nullptr) *link = c.next;
  return true;
}

}  // namespace starling::resident::detail
