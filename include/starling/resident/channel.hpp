// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <starling/resident/detail/message.hpp>

/// Persistent channels between two resident chares: the sender writes into memory of the receiver
/// and notifies it. The receiver opens a channel once, by a message. A send needs no message:
/// nothing is allocated, matched or copied twice.
namespace starling::resident {
namespace detail {

inline constexpr std::uint32_t channel_depth = 2;  // sends that may be ahead of the releases

/// State of a receiving end. Written by its leader only, except `counts` and `lent`. Pointers are
/// to memory as mapped on this device, so that the leader computes no address in a send or release.
struct channel_in_state {
  // Stored by the sender for each of the last sends: number of elements, and address if lent.
  std::uint32_t counts[channel_depth] = {};
  std::uint64_t lent[channel_depth] = {};  // 0: copied into `buffers`
  std::uint32_t seen = 0;                  // sends counted
  std::uint32_t released = 0;              // sends released
  std::uint32_t told = 0;                  // releases stored at the sender
  std::uint32_t is_beside = 0;             // 1: the sender is on this device
  std::uint32_t bytes = 0;                 // capacity of each buffer
  std::uint32_t is_open = 0;
  std::byte* buffers = nullptr;
  std::uint32_t* acknowledged = nullptr;  // in the sending end
  channel_in_state* next = nullptr;       // in the list of ends with unstored releases
  // The element with the sending end, and the offset of its counter of room.
  std::uint32_t peer_scheduler = 0;
  std::uint32_t peer_array = 0;
  std::uint32_t peer_slot = 0;
  std::uint32_t room = 0;
};

/// State of a sending end. Written by its leader only, except `acknowledged`.
struct channel_out_state {
  std::uint32_t sent = 0;
  std::uint32_t told = 0;          // sends stored at the receiver
  std::uint32_t acknowledged = 0;  // releases; stored by the receiver
  std::uint32_t is_beside = 0;     // 1: the receiver is on this device
  std::uint32_t bytes = 0;
  std::uint32_t is_open = 0;
  channel_in_state* peer = nullptr;
  std::byte* buffers = nullptr;       // in the receiver's memory
  std::uint32_t* arrived = nullptr;   // in the line of the receiver's scheduler
  channel_out_state* next = nullptr;  // in the list of ends with unstored sends
  std::byte* outgoing = nullptr;      // local buffer, if the receiver's are not mapped
};

/// Offsets in the element with the sending end: of that end, and of its counter of room.
struct channel_offsets {
  std::uint32_t member = 0;
  std::uint32_t counter = 0;
};

/// Arguments of the message that opens the sending end.
struct channel_opening {
  channel_offsets offsets;
  std::uint32_t scheduler = 0;  // of the receiver
  std::uint32_t number = 0;     // among the receiving ends of that scheduler
  std::uint32_t bytes = 0;
  address buffers;
  address peer;  // the receiving end
};

}  // namespace detail

/// The receiving end: a member of a chare. See `context::open`.
template <class T>
class channel_in {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  [[nodiscard]] constexpr detail::channel_in_state& state() noexcept { return m_state; }

 private:
  detail::channel_in_state m_state;
};

/// The sending end: a member of a chare. The receiving end opens it.
template <class T>
class channel_out {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  [[nodiscard]] constexpr bool is_open() const noexcept { return m_state.is_open != 0; }
  /// Returns whether the receiver is on this device, so that lent data is not copied. Valid only
  /// for an open end.
  [[nodiscard]] constexpr bool is_beside() const noexcept { return m_state.is_beside != 0; }
  [[nodiscard]] constexpr detail::channel_out_state& state() noexcept { return m_state; }

 private:
  detail::channel_out_state m_state;
};

}  // namespace starling::resident
