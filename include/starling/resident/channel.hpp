// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <starling/resident/detail/message.hpp>

/// Persistent channels between two resident chares: memory of the receiver that the sender writes,
/// and one notification. The receiver opens a channel once, by a message; a send is then no message
/// any more: nothing is allocated, matched or copied twice.
namespace starling::resident {
namespace detail {

inline constexpr std::uint32_t channel_depth = 2;  // sends before the receiver has released

/// Pointers are to where memory of others is mapped on this device: what is sent and released costs
/// its leader time for each thing that it must find out.
struct channel_in_state {
  // Of the last sends, stored by the sender: how many elements, and where they were lent.
  std::uint32_t counts[channel_depth] = {};
  std::uint64_t lent[channel_depth] = {};  // 0: not at all
  std::uint32_t seen = 0;
  std::uint32_t released = 0;
  std::uint32_t told = 0;       // of these the sender knows
  std::uint32_t is_beside = 0;  // the sender is on this device
  std::uint32_t bytes = 0;      // of each buffer
  std::uint32_t is_open = 0;
  std::byte* buffers = nullptr;
  std::uint32_t* acknowledged = nullptr;  // of the sending end
  channel_in_state* next = nullptr;       // among those with something to tell
  // Whose the sending end is, and its counter of room.
  std::uint32_t peer_scheduler = 0;
  std::uint32_t peer_array = 0;
  std::uint32_t peer_slot = 0;
  std::uint32_t room = 0;
};

struct channel_out_state {
  std::uint32_t sent = 0;
  std::uint32_t told = 0;          // of these the receiver knows
  std::uint32_t acknowledged = 0;  // stored by the receiver when it releases
  std::uint32_t is_beside = 0;     // the receiver is on this device
  std::uint32_t bytes = 0;
  std::uint32_t is_open = 0;
  channel_in_state* peer = nullptr;
  std::byte* buffers = nullptr;       // the receiver's
  std::uint32_t* arrived = nullptr;   // of the receiver's scheduler
  channel_out_state* next = nullptr;  // among those with something to tell
  std::byte* outgoing = nullptr;      // a buffer here, where the receiver's are not mapped
};

/// Offsets in the element that has the sending end: of that, and of its counter of room.
struct channel_place {
  std::uint32_t member = 0;
  std::uint32_t counter = 0;
};

/// Arguments of the message that opens.
struct channel_opening {
  channel_place place;
  std::uint32_t scheduler = 0;  // the receiver's
  std::uint32_t number = 0;     // among its channels
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
  [[nodiscard]] constexpr detail::channel_in_state& native() noexcept { return m_native; }

 private:
  detail::channel_in_state m_native;
};

/// The sending end: a member of a chare. The receiving end opens it.
template <class T>
class channel_out {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  [[nodiscard]] constexpr bool is_open() const noexcept { return m_native.is_open != 0; }
  /// Whether the receiver is on this device, so that what is lent is not copied. Of an open one.
  [[nodiscard]] constexpr bool is_beside() const noexcept { return m_native.is_beside != 0; }
  [[nodiscard]] constexpr detail::channel_out_state& native() noexcept { return m_native; }

 private:
  detail::channel_out_state m_native;
};

}  // namespace starling::resident
