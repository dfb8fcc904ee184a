// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::resident {
class chare;
}

/// Messages between resident schedulers. Read by device compilers: no coroutines, no containers.
namespace starling::resident::detail {

/// The kind of a message, by which a scheduler handles it.
enum class message_kind : std::uint8_t {
  // To the element in slot `target`, wherever it is.
  entry,    ///< runs an entry method
  arrival,  ///< counts for a counter of the element
  opening,  ///< gives the sending end of a channel the address of the receiving end
  // `target` is not a slot, from here on.
  broadcast,      ///< down the tree; each scheduler runs it for its own elements
  numbered,       ///< entry message whose `target` is an element's index instead of its slot
  contribution,   ///< contribution to a reduction, sent to scheduler 0
  at_quiescence,  ///< to scheduler 0: to be sent at the next quiescence
  // Not counted for quiescence, from here on.
  wave,         ///< asks for the counts of sent and done messages, down the tree
  wave_answer,  ///< their sums, up the tree
  private_ring  ///< its sender uses a private ring from now on; or `no_ring`
};

/// Where the span of an entry method's last parameter is stored.
enum class payload_storage : std::uint8_t {
  none,
  inlined,   ///< in the message itself
  block,     ///< in a payload block of the destination, lent to the sender's device
  staged,    ///< in a block of a heap: until the destination has a free block, or kept there
  reference  ///< in the sender's memory, until the receiver notifies the sender's counter
};

/// Returns whether a span is in memory outside the message that must be released and acquired.
[[nodiscard]] constexpr bool is_elsewhere(payload_storage p) noexcept {
  return p == payload_storage::block || p == payload_storage::reference;
}

inline constexpr std::size_t inline_bytes = 88;
inline constexpr int storage_shift = 4;  // in `message::what`

/// The beginning of a message: its kind and target.
struct message_head {
  std::uint32_t target = 0;
  std::uint8_t entry = 0;
  std::uint8_t array = 0;
  std::uint8_t bytes = 0;  // of arguments
  std::uint8_t what = 0;   // kind, storage of the span, and whether it has a reference number

  [[nodiscard]] constexpr message_kind kind() const noexcept { return message_kind(what & 15); }
  [[nodiscard]] constexpr payload_storage storage() const noexcept {
    return payload_storage(what >> storage_shift & 7);
  }
  /// Returns whether the sender's group wrote data outside this message.
  [[nodiscard]] constexpr bool has_data_elsewhere() const noexcept {
    return is_elsewhere(storage());
  }
  [[nodiscard]] constexpr bool has_reference() const noexcept { return (what & 128) != 0; }
  constexpr void set(message_kind k, payload_storage p = payload_storage::none,
                     bool reference = false) noexcept {
    what = static_cast<std::uint8_t>(int(k) | int(p) << storage_shift | (reference ? 128 : 0));
  }
};

/// A message as schedulers handle it: 96 bytes, which fill the eight units of a slot. A message
/// with at most four bytes of arguments fits into the first unit.
struct alignas(16) message : message_head {
  alignas(8) unsigned char arguments[inline_bytes];
};
static_assert(sizeof(message_head) == 8 && sizeof(message) == 96);

/// The least that is written and read at once: 12 bytes of a message and its sequence number, so
/// that no flag has to follow the data.
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

/// The arguments of a message of kind `private_ring`.
struct private_opening {
  std::uint32_t number = 0;  // of the receiving scheduler's rings, or no_ring: none is opened
  std::uint32_t sender = 0;
  std::uint32_t which = 0;  // index among the sender's private rings
};
inline constexpr std::uint32_t no_ring = ~std::uint32_t{0};

/// Returns the units that a message with `bytes` of arguments fills.
[[nodiscard]] constexpr int units_of(std::size_t bytes) noexcept {
  return static_cast<int>((8 + bytes + 11) / 12);
}

/// An address in memory of a device that all devices can use.
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
