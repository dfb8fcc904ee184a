// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <starling/core/future.hpp>
#include <starling/objects/detail/mail_message.hpp>

/// Waits for messages in coroutines of a chare, as `when` of Structured Dagger.
namespace starling {
namespace detail {

/// Returns the arguments after the first `Skipped`: std::monostate, one value or a tuple.
template <std::size_t Skipped, class... Args>
auto values_behind(std::tuple<Args...>& args) {
  constexpr std::size_t left = sizeof...(Args) - Skipped;
  if constexpr (left == 0) {
    return std::monostate();
  } else if constexpr (left == 1) {
    return std::move(std::get<Skipped>(args));
  } else {
    return [&args]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(std::move(std::get<Skipped + I>(args))...);
    }
    (std::make_index_sequence<left>());
  }
}

/// One `when`: selects a message and extracts its arguments.
template <class T, auto Entry, bool ByReference>
class message_request {
 public:
  static_assert(std::is_same_v<entry_result<Entry>, awaited>,
                "when: the method must be declared with the result type starling::awaited");
  static_assert(!ByReference || has_reference<Entry>,
                "when: a message is chosen by its first argument, which must be a number");

  T& self;
  std::int64_t reference = 0;

  [[nodiscard]] condition wanted() const noexcept {
    return {&awaited_info_of<Entry, T>, reference, !ByReference, nullptr};
  }
  /// Returns the arguments of `m`, which is discarded.
  static auto take(awaited_message& m) {
    const std::unique_ptr<work_item, discard_message> whole(&m);
    constexpr std::size_t references = ByReference ? 1 : 0;
    return values_behind<references>(static_cast<mail<Entry>&>(m).args);
  }
  using result = decltype(take(std::declval<awaited_message&>()));
};

/// Awaiter of the messages of all requests, or of the first available one.
template <bool All, class T, class... Requests>
class message_awaiter {
 public:
  explicit message_awaiter(const Requests&... requests) noexcept
      : m_self(std::get<0>(std::tie(requests...)).self), m_conditions{requests.wanted()...} {}

  bool await_ready() noexcept {
    m_wait.conditions = m_conditions;
    m_wait.all = All;
    m_wait.is_ended = m_self.element_state().is_doomed;  // no further messages are delivered
    return m_wait.is_ended || m_self.element_state().mail.take(m_wait);
  }
  template <runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) noexcept {
    m_wait.describe = &describe;
    m_wait.chare = &m_self;
    m_wait.waiting = &h.promise();
    mark_suspended(h.promise(), m_wait, at);
    m_self.element_state().mail.enlist(m_wait);
    m_self.note_wait();
  }
  auto await_resume() {
    m_wait.check();
    if constexpr (!All)
      return first<0>();
    else if constexpr (sizeof...(Requests) == 1)
      return (Requests::take(*m_conditions[0].message), ...);
    else
      return every(std::index_sequence_for<Requests...>());
  }

 private:
  template <std::size_t... I>
  auto every(std::index_sequence<I...>) {
    return std::tuple<typename Requests::result...>{Requests::take(*m_conditions[I].message)...};
  }
  template <std::size_t I>
  std::variant<typename Requests::result...> first() {
    using request = std::tuple_element_t<I, std::tuple<Requests...>>;
    if (awaited_message* m = m_conditions[I].message)
      return std::variant<typename Requests::result...>(std::in_place_index<I>, request::take(*m));
    if constexpr (I + 1 < sizeof...(Requests))
      return first<I + 1>();
    else
      throw_interrupted();
  }
  static std::string describe(const described_wait& w) {
    const auto& wait = static_cast<const message_wait&>(w);
    T& self = static_cast<T&>(*static_cast<chare_core*>(wait.chare));
    auto& array = array_of<T>::of(*self.element_state().local);
    return array.name_of(array.key_of(self)) + wait.text();
  }

  T& m_self;
  std::array<condition, sizeof...(Requests)> m_conditions;
  message_wait m_wait;
};

}  // namespace detail

/// The awaitable that `chare::when` returns; `&&` and `||` combine several of one chare.
///
/// A single one yields the arguments of its message: std::monostate, the argument or a tuple.
/// `a && b` takes its messages only when all of them have arrived, and yields a tuple with the
/// arguments of each. `a || b` takes the first message available and yields a variant.
template <bool All, class T, class... Requests>
class message_wait_of {
 public:
  explicit message_wait_of(const Requests&... requests) noexcept : m_requests(requests...) {}

  detail::message_awaiter<All, T, Requests...> operator co_await() const noexcept {
    return std::apply(
        [](const auto&... r) { return detail::message_awaiter<All, T, Requests...>(r...); },
        m_requests);
  }
  template <class Other>
  requires(All || sizeof...(Requests) == 1) auto operator&&(
      const message_wait_of<true, T, Other>& other) const {
    return join<true>(other);
  }
  template <class Other>
  requires(!All || sizeof...(Requests) == 1) auto operator||(
      const message_wait_of<true, T, Other>& other) const {
    return join<false>(other);
  }

 private:
  template <bool, class, class...>
  friend class message_wait_of;
  template <bool Both, class Other>
  auto join(const message_wait_of<true, T, Other>& other) const {
    return std::apply(
        [](const auto&... r) { return message_wait_of<Both, T, Requests..., Other>(r...); },
        std::tuple_cat(m_requests, other.m_requests));
  }
  std::tuple<Requests...> m_requests;
};

}  // namespace starling
