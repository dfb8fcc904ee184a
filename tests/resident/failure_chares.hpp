// SPDX-License-Identifier: Apache-2.0
// Chares that make errors. They support groups of any size, so that they run on devices, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// The property in which one contribution differs from the remaining ones of its reduction.
enum class unlike : std::uint32_t { type, operation, goal, barrier };

template <class Cx>
struct clumsy : resident::chare {
  /// The message that it sends itself before it fails must not run.
  constexpr void give_up_before(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.invoke(cx.array_of(*this)[index()], entry<&clumsy::tell>, to);
    cx.fail(9);
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::uint32_t> to) { cx.send(to, 9u); }
  constexpr void wrong_index(Cx& cx, std::uint32_t index) {
    cx.invoke(cx.array_of(*this)[index], entry<&clumsy::nothing>);
  }
  constexpr void wrong_signal(Cx& cx, std::uint32_t index) {
    cx.signal(cx.array_of(*this)[index], &clumsy::m_counter);
  }
  constexpr void wrong_index_with_span(Cx& cx, std::uint32_t index) {
    cx.invoke(cx.array_of(*this)[index], entry<&clumsy::take>,
              std::span<const std::uint32_t>(m_data));
  }
  constexpr void wrong_array_with_span(Cx& cx) {
    cx.broadcast(resident::chare_array<clumsy>(), entry<&clumsy::take>,
                 std::span<const std::uint32_t>(m_data));
  }
  constexpr void give_up(Cx& cx, std::uint32_t number) { cx.fail(number); }
  constexpr void nothing(Cx&) {}
  /// Sends itself more messages than there is room for.
  constexpr void flood(Cx& cx) {
    for (std::uint32_t i = 0; i < 100000; ++i)
      cx.invoke(cx.array_of(*this)[index()], entry<&clumsy::nothing>);
  }
  /// The same to the other element, which does not receive them, as it does the same.
  constexpr void flood_other(Cx& cx) {
    for (std::uint32_t i = 0; i < 100000; ++i)
      cx.invoke(cx.array_of(*this)[1 - index()], entry<&clumsy::nothing>);
  }
  constexpr void big_span(Cx& cx, std::uint32_t n) {
    const auto data = cx.template allocate<std::uint32_t>(n);
    cx.invoke(cx.array_of(*this)[0], entry<&clumsy::take>, std::span<const std::uint32_t>(data));
  }
  constexpr void big_broadcast(Cx& cx, std::uint32_t n) {
    const auto data = cx.template allocate<std::uint32_t>(n);
    cx.broadcast(cx.array_of(*this), entry<&clumsy::take>, std::span<const std::uint32_t>(data));
  }
  constexpr void take(Cx&, std::span<const std::uint32_t>) {}
  constexpr void lend_own(Cx& cx) {
    const std::span<const std::uint32_t> foreign_memory(&not_of_the_program, 1);
    cx.invoke(cx.array_of(*this)[0], entry<&clumsy::take>, cx.lend(foreign_memory, m_counter));
  }
  constexpr void wait_twice(Cx& cx) {
    cx.when_counted(m_counter, 1, entry<&clumsy::nothing>);
    cx.when_counted(m_counter, 1, entry<&clumsy::nothing>);
  }
  constexpr void take_from_a_wait(Cx& cx) {
    cx.when_counted(m_counter, 1, entry<&clumsy::nothing>);
    if (cx.take(m_counter, 0)) cx.fail(1);
  }
  constexpr void numbered(Cx& cx, std::uint32_t number) { cx.expect(number + 1); }
  constexpr void for_ever(Cx& cx) {
    const auto all = cx.array_of(*this);
    cx.invoke(all[(index() * 7 + 3) % all.size()], entry<&clumsy::for_ever>);
  }
  /// Sends itself `before` messages without a span, then messages with spans without end.
  constexpr void begin_spans(Cx& cx, std::uint32_t before) {
    const auto self = cx.array_of(*this)[index()];
    if (before != 0) return cx.invoke(self, entry<&clumsy::begin_spans>, before - 1);
    cx.invoke(self, entry<&clumsy::spans_for_ever>, std::span<const std::uint32_t>(&m_word, 1));
  }
  constexpr void spans_for_ever(Cx& cx, std::span<const std::uint32_t>) { begin_spans(cx, 0); }
  constexpr void hear(Cx&, double) {}
  /// All elements but one contribute a sum; element 3 contributes something different.
  constexpr void contribute_unlike(Cx& cx, unlike how, resident::host_mailbox<double> to,
                                   resident::host_mailbox<float> narrow) {
    const auto all = cx.array_of(*this);
    if (index() != 3) return cx.contribute(1.0, resident::reduction::sum, to);
    if (how == unlike::type) cx.contribute(1.0f, resident::reduction::sum, narrow);
    if (how == unlike::operation) cx.contribute(1.0, resident::reduction::max, to);
    if (how == unlike::goal)
      cx.contribute(1.0, resident::reduction::sum, all[6], entry<&clumsy::hear>);
    if (how == unlike::barrier) cx.contribute(all, entry<&clumsy::nothing>);
  }

  struct entries
      : resident::entries<
            &clumsy::wrong_index, &clumsy::wrong_signal, &clumsy::wrong_index_with_span,
            &clumsy::wrong_array_with_span, &clumsy::give_up, &clumsy::nothing, &clumsy::flood,
            &clumsy::flood_other, &clumsy::big_span, &clumsy::big_broadcast, &clumsy::take,
            &clumsy::lend_own, &clumsy::wait_twice, &clumsy::take_from_a_wait, &clumsy::numbered,
            &clumsy::for_ever, &clumsy::give_up_before, &clumsy::tell, &clumsy::begin_spans,
            &clumsy::spans_for_ever, &clumsy::hear, &clumsy::contribute_unlike> {};
  struct referenced : resident::entries<&clumsy::numbered> {};

 private:
  static constexpr std::uint32_t not_of_the_program = 0;
  resident::counter m_counter;
  std::uint32_t m_word = 1;
  std::uint32_t m_data[4] = {};
};

using clumsy_program = resident::program<clumsy>;

}  // namespace starling_test
