// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::resident {
class chare;
}

/// What travels between resident schedulers. Read by device compilers: no coroutines, no
/// containers.
namespace starling::resident::detail {

/// What a scheduler does with a message.
enum class message_kind : std::uint8_t {
  entry,         ///< runs an entry method of the element in slot `target`
  everywhere,    ///< goes down the tree of schedulers; each runs it for its own elements
  numbered,      ///< from the host: `target` is the element's index, its place is still to be found
  arrival,       ///< counts for a counter of the element in slot `target`
  opening,       ///< tells the sending end of a channel where the receiving end is
  contribution,  ///< values of a reduction, on their way to the first scheduler
  quiet_wish,    ///< somebody wants to know when all is quiet
  // Not counted, from here on.
  wave,         ///< asks down the tree what was sent and done
  wave_answer,  ///< goes up the tree, added up
  private_ring  ///< from now on its sender uses a ring that is its own; or says nothing
};

/// Where the span of an entry method's last parameter lies.
enum class payload_place : std::uint8_t {
  none,
  inlined,   ///< in the message itself
  block,     ///< in a block of the receiver's memory, lent to the sender's device
  staged,    ///< in a block of the sender's own, until one of the receiver's is free
  reference  ///< where the sender has it, until the receiver has told the sender's counter
};

/// Whether what the sender's group wrote lies outside of the message and of the receiver.
[[nodiscard]] constexpr bool is_elsewhere(payload_place p) noexcept {
  return p == payload_place::block || p == payload_place::reference;
}

inline constexpr std::size_t inline_bytes = 88;
inline constexpr int place_shift = 4;  // in `message::what`

/// The beginning of a message: what it is and for whom.
struct message_head {
  std::uint32_t target = 0;
  std::uint8_t entry = 0;
  std::uint8_t array = 0;
  std::uint8_t bytes = 0;  // of arguments
  std::uint8_t what = 0;   // kind, place and whether it waits for its turn

  [[nodiscard]] constexpr message_kind kind() const noexcept { return message_kind(what & 15); }
  [[nodiscard]] constexpr payload_place place() const noexcept {
    return payload_place(what >> place_shift & 7);
  }
  /// What its sender's group wrote where this message does not lie.
  [[nodiscard]] constexpr bool has_data_elsewhere() const noexcept { return is_elsewhere(place()); }
  [[nodiscard]] constexpr bool has_reference() const noexcept { return (what & 128) != 0; }
  constexpr void set(message_kind k, payload_place p = payload_place::none,
                     bool reference = false) noexcept {
    what = static_cast<std::uint8_t>(int(k) | int(p) << place_shift | (reference ? 128 : 0));
  }
};

/// One message as schedulers handle it: 96 bytes, which fill the eight units of a slot. One with at
/// most four bytes of arguments fits into the first.
struct alignas(16) message : message_head {
  alignas(8) unsigned char arguments[inline_bytes];
};
static_assert(sizeof(message_head) == 8 && sizeof(message) == 96);

/// The least that is written and read at once: 12 bytes of a message and its sequence number, so
/// that data needs no flag that follows it.
struct alignas(16) unit {
  std::uint32_t first;
  std::uint32_t second;
  std::uint64_t tail;  // the third word, and in its upper half the sequence number
};

inline constexpr int units_per_slot = 8;

struct alignas(128) slot {
  unit units[units_per_slot];
};
static_assert(sizeof(slot) == 128);

/// What a message of kind `private_ring` says.
struct private_opening {
  std::uint32_t number = 0;  // of the receiver's private rings, or no_ring: it has nothing to say
  std::uint32_t sender = 0;
  std::uint32_t which = 0;  // of the sender's
};
inline constexpr std::uint32_t no_ring = ~std::uint32_t{0};

/// Units that a message of `bytes` of arguments fills.
[[nodiscard]] constexpr int units_of(std::size_t bytes) noexcept {
  return static_cast<int>((8 + bytes + 11) / 12);
}

/// Memory of a device as all devices name it.
struct address {
  std::uint64_t bits = 0;  // device in the upper 16, offset in its slab in the lower 48
  [[nodiscard]] constexpr std::uint32_t device() const noexcept {
    return std::uint32_t(bits >> 48);
  }
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept {
    return bits & ((std::uint64_t(1) << 48) - 1);
  }
  [[nodiscard]] static constexpr address of(std::uint32_t device, std::uint64_t offset) noexcept {
    return {std::uint64_t(device) << 48 | offset};
  }
};

}  // namespace starling::resident::detail
