// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/cells.hpp>
#include <starling/resident/entry.hpp>

namespace starling::resident {

namespace detail {

/// The state of a counter. Written by the leader of the element's scheduler only.
struct counter_state {
  std::uint32_t arrived = 0;      // arrivals not yet subtracted
  std::uint32_t wanted = 0;       // arrivals of the pending `when_counted`; 0: none
  counter_state* next = nullptr;  // in the list `element_state::armed`
  message then;                   // the entry method of the pending `when_counted`
};

/// The schedulers' state of an element, at the beginning of its object.
struct element_state {
  std::uint32_t index = 0;
  std::uint32_t slot = 0;
  std::uint32_t home = 0;  // current scheduler; read by all, written only by that scheduler
  std::uint32_t born = 0;  // first scheduler, which counts it for broadcasts and reductions
  std::uint32_t array = 0;
  std::uint32_t expected = 0;      // reference number: see `context::expect`
  std::uint32_t contributed = 0;   // number of reductions it contributed to
  std::uint32_t channels = 0;      // number of receiving ends
  cell_list stash;                 // messages whose reference number is not expected yet
  std::uint32_t stash_number = 0;  // of the first message in `stash`, for diagnosis
  std::uint32_t stash_entry = 0;   // the same
  counter_state* armed = nullptr;  // counters with a pending `when_counted`
};

}  // namespace detail

/// The base of all resident chares; with several bases, it must be the first.
///
///     template <class Cx>
///     struct block : starling::resident::chare {
///       constexpr void halo(Cx& cx, std::uint32_t iteration, std::span<const float> row);
///       struct entries : starling::resident::entries<&block::halo> {};
///     };
///
/// Elements are stored in device memory, made by their default constructor and never destroyed. An
/// entry method ends before the next one of the same element begins; on a device all threads of a
/// group run it.
class chare {
 public:
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return m_state.index; }
  /// Returns the expected reference number: see `context::expect`.
  [[nodiscard]] constexpr std::uint32_t expected() const noexcept { return m_state.expected; }

  [[nodiscard]] constexpr detail::element_state& state() noexcept { return m_state; }

 private:
  detail::element_state m_state;
};

/// A member of a chare that counts arrivals: messages, signals, data of channels.
/// `context::when_counted` sets the number at which an entry method runs; earlier arrivals are
/// kept. No entry method blocks on a counter.
class counter {
 public:
  /// Returns the arrivals that no `when_counted` or `take` has subtracted yet. Requires a `sync`
  /// between this call and a call that changes the counter.
  [[nodiscard]] constexpr std::uint32_t arrived() const noexcept { return m_state.arrived; }

  [[nodiscard]] constexpr detail::counter_state& state() noexcept { return m_state; }

 private:
  detail::counter_state m_state;
};

/// A reference to an element: a small value that may be copied and sent freely. Its validity is
/// checked where it is used.
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

/// A reference to a chare array: a small value that may be copied and sent freely. Made by
/// `system::create`.
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

/// A reference to a queue on the host, for values of type T from resident chares: a small value
/// that may be copied and sent freely. Made by `system::make_host_mailbox`.
template <class T>
class host_mailbox {
  static_assert(detail::is_plain<T> && sizeof(T) <= detail::inline_bytes,
                "a host mailbox takes trivially copyable values of at most 88 bytes");

 public:
  constexpr host_mailbox() noexcept = default;
  constexpr explicit host_mailbox(std::uint32_t number) noexcept : m_number(number) {}
  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return m_number; }

 private:
  std::uint32_t m_number = 0;
};

}  // namespace starling::resident
