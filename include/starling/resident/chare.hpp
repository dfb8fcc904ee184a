// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/cells.hpp>
#include <starling/resident/entry.hpp>

namespace starling::resident {

namespace detail {

/// What schedulers keep of a counter.
struct counter_state {
  std::uint32_t arrived = 0;      // and not used yet
  std::uint32_t wanted = 0;       // 0: nothing waits
  counter_state* next = nullptr;  // of those of the element that something waits for
  message then;
};

/// What schedulers keep of an element, at the beginning of its object.
struct element {
  std::uint32_t index = 0;
  std::uint32_t slot = 0;
  std::uint32_t home = 0;  // its scheduler: read by others too, written by `home` alone
  std::uint32_t born = 0;  // its first one, which counts it for broadcasts and reductions
  std::uint32_t array = 0;
  std::uint32_t expected = 0;
  std::uint32_t contributed = 0;   // to how many reductions
  std::uint32_t channels = 0;      // receiving ends
  cell_list stash;                 // messages before their turn
  std::uint32_t stash_number = 0;  // of the first one, for diagnosis
  std::uint32_t stash_entry = 0;
  counter_state* armed = nullptr;  // counters that something waits for
};

}  // namespace detail

/// The base of all resident chares, and the first one where there are several.
///
///     template <class Cx>
///     struct block : starling::resident::chare {
///       constexpr void halo(Cx& cx, std::uint32_t iteration, std::span<const float> row);
///       struct entries : starling::resident::entries<&block::halo> {};
///     };
///
/// Elements lie in device memory and are made by their default constructor, and never destroyed. An
/// entry method runs to its end before another one of the element begins; on a device all threads
/// of a group run it.
class chare {
 public:
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return m_native.index; }
  /// The reference number that is expected: see `context::expect`.
  [[nodiscard]] constexpr std::uint32_t expected() const noexcept { return m_native.expected; }

  [[nodiscard]] constexpr detail::element& native() noexcept { return m_native; }

 private:
  detail::element m_native;
};

/// A member of a chare that counts what the element waits for: messages, signals, data of channels.
/// `context::when` says what is to run at how many; arrivals before that are kept. Nothing ever
/// waits in place.
class counter {
 public:
  /// Arrivals that no `when` or `take` has used yet. Not next to what changes it without a `sync`
  /// between.
  [[nodiscard]] constexpr std::uint32_t arrived() const noexcept { return m_native.arrived; }

  [[nodiscard]] constexpr detail::counter_state& native() noexcept { return m_native; }

 private:
  detail::counter_state m_native;
};

/// An element of an array: a small value, kept and sent freely. Whether there is such an element is
/// judged where it is used.
template <template <class> class Chare>
class element_ref {
 public:
  constexpr element_ref() noexcept = default;
  constexpr element_ref(std::uint32_t array, std::uint32_t index, std::uint32_t count) noexcept
      : m_array(array), m_index(index), m_count(count) {}
  [[nodiscard]] constexpr std::uint32_t array() const noexcept { return m_array; }
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return m_index; }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }

 private:
  std::uint32_t m_array = 0, m_index = 0, m_count = 0;
};

/// A chare array: a small value, kept and sent freely. Made by `system::create`.
template <template <class> class Chare>
class chare_array {
 public:
  constexpr chare_array() noexcept = default;
  constexpr chare_array(std::uint32_t number, std::uint32_t count) noexcept
      : m_number(number), m_count(count) {}
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return m_count; }
  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return m_number; }
  [[nodiscard]] constexpr element_ref<Chare> operator[](std::uint32_t index) const noexcept {
    return {m_number, index, m_count};
  }

 private:
  std::uint32_t m_number = 0, m_count = 0;
};

/// Where the host receives values of type T from resident chares: a small value, kept and sent
/// freely. Made by `system::make_mailbox`.
template <class T>
class mailbox {
  static_assert(detail::is_plain<T> && sizeof(T) <= detail::inline_bytes,
                "a mailbox takes trivially copyable values of at most 88 bytes");

 public:
  constexpr mailbox() noexcept = default;
  constexpr explicit mailbox(std::uint32_t number) noexcept : m_number(number) {}
  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return m_number; }

 private:
  std::uint32_t m_number = 0;
};

}  // namespace starling::resident
