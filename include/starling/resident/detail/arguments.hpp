// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/message.hpp>

/// Arguments of entry methods as bytes of a message and back. Offsets are compile-time constants,
/// so a device keeps the bytes in registers.
namespace starling::resident::detail {

template <class T>
inline constexpr bool is_span = false;
template <class T>
inline constexpr bool is_span<std::span<const T>> = std::is_trivially_copyable_v<T> &&
                                                    alignof(T) <= 16;

/// Whether T may be the type of a parameter that is not the span at the end.
template <class T>
inline constexpr bool is_plain =
    std::is_trivially_copyable_v<T>&& std::is_copy_assignable_v<T> && !std::is_pointer_v<T> &&
    !std::is_reference_v<T> && alignof(T) <= 8;

/// The description of a span: the beginning of the arguments of a message that has a span.
struct payload {
  address lent;             // reference: address of the lent memory
  std::uint32_t count = 0;  // elements
  // Scheduler that owns the payload block; reference: sending scheduler.
  std::uint16_t scheduler = 0;
  std::uint8_t device = 0;   // the device to which the payload block is lent
  std::uint8_t array = 0;    // reference: array of the element with the sender's counter
  std::uint32_t number = 0;  // of the payload block; reference: slot of that element
  std::uint32_t extra = 0;   // bytes in the payload block; reference: offset of that counter
};
static_assert(sizeof(payload) == 24);

template <class... Args>
struct last_type {
  using type = void;
};
template <class First, class... Rest>
struct last_type<First, Rest...> : last_type<Rest...> {};
template <class Last>
struct last_type<Last> {
  using type = Last;
};
template <class... Args>
using last_of = typename last_type<Args...>::type;
template <class... Args>
inline constexpr bool has_last_span = is_span<last_of<Args...>>;

/// A span argument that the receiver reads in the sender's memory, see `context::lend`.
template <class T>
struct lent;

template <class Param, class Given>
[[nodiscard]] constexpr bool is_accepted() noexcept {
  if constexpr (is_span<Param>)
    return std::is_convertible_v<const Given&, Param> ||
           std::is_same_v<Given, lent<std::remove_const_t<typename Param::element_type>>>;
  else
    return std::is_convertible_v<const Given&, Param>;
}

/// The parameter types of an entry method after its context.
template <class... Args>
struct parameters {
  static constexpr std::size_t count = sizeof...(Args);
  template <std::size_t Which>
  using type = std::tuple_element_t<Which, std::tuple<Args...>>;

  [[nodiscard]] static constexpr bool has_span() noexcept { return has_last_span<Args...>; }
  /// The type of the span parameter, or void.
  using span = std::conditional_t<has_last_span<Args...>, last_of<Args...>, void>;

  /// Returns whether a call may pass arguments of these types.
  template <class... Given>
  [[nodiscard]] static constexpr bool accepts() noexcept {
    if constexpr (sizeof...(Given) == sizeof...(Args))
      return (is_accepted<Args, Given>() && ...);
    else
      return false;
  }
  /// Returns whether the parameters are plain values, with at most one span at the end.
  [[nodiscard]] static constexpr bool fit() noexcept {
    std::size_t i = 0;
    return ((++i == count ? is_span<Args> || is_plain<Args> : is_plain<Args>)&&...);
  }

  /// Returns the offset of parameter `which`; for `which == count`, the end of all parameters.
  [[nodiscard]] static constexpr std::size_t offset(std::size_t which) noexcept {
    constexpr std::size_t sizes[] = {(is_span<Args> ? 0 : sizeof(Args))..., 0};
    constexpr std::size_t aligns[] = {(is_span<Args> ? 1 : alignof(Args))..., 1};
    std::size_t at = has_span() ? sizeof(payload) : 0;
    for (std::size_t i = 0; i <= which; ++i) {
      at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
      if (i < which) at += sizes[i];
    }
    return at;
  }
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return offset(count); }
  /// Returns the offset of the elements of a span that is stored in the message itself. They are
  /// 16-byte aligned in the message, whose arguments begin at its byte 8.
  [[nodiscard]] static constexpr std::size_t inlined_offset() noexcept {
    return (bytes() + 8 + 15) / 16 * 16 - 8;
  }
};

template <class T>
constexpr void write_at(message& m, std::size_t offset, const T& value) noexcept {
  store_as(m.arguments + offset, value);
}
template <class T>
[[nodiscard]] constexpr T read_at(const message& m, std::size_t offset) noexcept {
  return load_as<T>(m.arguments + offset);
}

/// A message head as two words, so that it is loaded and stored by two accesses.
struct alignas(8) head_words {
  std::uint32_t target;
  std::uint32_t rest;
};
/// Loads the head of a message as whole words.
template <class Message>
[[nodiscard]] constexpr message_head head_of(const Message& m) noexcept {
  const auto both = load_as<head_words>(&m);
  message_head head;
  head.target = both.target;
  head.entry = static_cast<std::uint8_t>(both.rest);
  head.array = static_cast<std::uint8_t>(both.rest >> 8);
  head.bytes = static_cast<std::uint8_t>(both.rest >> 16);
  head.what = static_cast<std::uint8_t>(both.rest >> 24);
  return head;
}

/// Stores the head of a message as whole words.
template <class Message>
constexpr void set_head(Message& m, const message_head& head) noexcept {
  const std::uint32_t rest = head.entry | std::uint32_t(head.array) << 8 |
                             std::uint32_t(head.bytes) << 16 | std::uint32_t(head.what) << 24;
  store_as(&m, head_words{head.target, rest});
}

/// Copies the head and the arguments of a message, without the unused bytes after them.
constexpr void copy_used(message& to, const message& from) noexcept {
  const message_head head = head_of(from);
  set_head(to, head);
  for (std::uint32_t i = 0; i < head.bytes; i += 8)
    store_as(to.arguments + i, load_as<std::uint64_t>(from.arguments + i));
}

/// Returns the reference number of a message: its first argument after any `payload`.
template <class Message>
[[nodiscard]] constexpr std::uint32_t reference_of(const Message& m) noexcept {
  return read_at<std::uint32_t>(m, m.storage() == payload_storage::none ? 0 : sizeof(payload));
}

}  // namespace starling::resident::detail
