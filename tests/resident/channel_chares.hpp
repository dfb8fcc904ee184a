// SPDX-License-Identifier: Apache-2.0
// Chares with channels. They support groups of any size, so that they run on devices, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// A ring in which each element has a channel to the next one; all channels are in use at once.
template <class Cx>
struct link : resident::chare {
  static constexpr std::uint32_t most = 300;
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;
  std::uint32_t m_left = 0, m_step = 0;
  float m_sum = 0;
  float m_data[most + 1] = {};
  resident::host_mailbox<float> m_end;

  constexpr void open(Cx& cx) {
    const auto ring = cx.array_of(*this);
    const auto before = ring[(index() + ring.size() - 1) % ring.size()];
    cx.open(m_in, most, m_arrived, before, &link::m_out, &link::m_room);
  }
  constexpr void begin(Cx& cx, std::uint32_t steps, resident::host_mailbox<float> end) {
    cx.once([&] {
      m_left = steps;
      m_end = end;
    });
    step(cx);
  }
  constexpr void step(Cx& cx) {
    if (m_left == 0) return cx.contribute(m_sum, resident::reduction::sum, m_end);
    cx.when_counted(m_room, 1, entry<&link::send>);
  }
  constexpr void send(Cx& cx) {
    const std::uint32_t n = m_step % most;  // a different length each time
    cx.for_each(n, [&](std::uint32_t i) { m_data[i] = float(index() + m_step + i); });
    cx.send(m_out, std::span<const float>(m_data, n));
    cx.when_counted(m_arrived, 1, entry<&link::take>);
  }
  constexpr void take(Cx& cx) {
    const auto got = cx.received(m_in);
    const std::uint32_t from =
        (index() + cx.array_of(*this).size() - 1) % cx.array_of(*this).size();
    if (got.size() != m_step % most) cx.fail(1);
    std::uint32_t wrong = 0;
    cx.for_each(std::uint32_t(got.size()),
                [&](std::uint32_t i) { wrong += got[i] != float(from + m_step + i) ? 1 : 0; });
    if (cx.reduce(wrong, [](std::uint32_t a, std::uint32_t b) { return a + b; }) != 0) cx.fail(2);
    cx.return_room(m_in);
    cx.once([&] {
      m_sum += 1;
      ++m_step;
      --m_left;
    });
    step(cx);
  }
  /// Sends three times without a release.
  constexpr void overrun(Cx& cx) { cx.when_counted(m_room, 1, entry<&link::flood>); }
  constexpr void flood(Cx& cx) {
    for (int i = 0; i < 3; ++i) cx.send(m_out, std::span<const float>(&m_sum, 1));
  }
  constexpr void too_long(Cx& cx) { cx.when_counted(m_room, 1, entry<&link::send_too_long>); }
  constexpr void send_too_long(Cx& cx) { cx.send(m_out, std::span<const float>(m_data)); }
  constexpr void too_early(Cx& cx) { cx.send(m_out, std::span<const float>(&m_sum, 1)); }
  /// Lends a span of a received message, which is not in memory that receivers can read in place.
  constexpr void lend_own(Cx& cx) { cx.when_counted(m_room, 1, entry<&link::tell_oneself>); }
  constexpr void tell_oneself(Cx& cx) {
    cx.invoke(cx.array_of(*this)[index()], entry<&link::lend_given>,
              std::span<const float>(m_data, 1));
  }
  constexpr void lend_given(Cx& cx, std::span<const float> given) { cx.lend(m_out, given); }
  constexpr void move(Cx& cx) { cx.migrate((cx.scheduler_index() + 1) % cx.scheduler_count()); }

  struct entries : resident::entries<&link::open, &link::begin, &link::step, &link::send,
                                     &link::take, &link::overrun, &link::flood, &link::too_long,
                                     &link::send_too_long, &link::too_early, &link::move,
                                     &link::lend_own, &link::tell_oneself, &link::lend_given> {};
};

/// When an element notifies the other ends of its releases and sends.
enum class telling : std::uint32_t {
  at_the_end,
  after_releases,
  between_sends,
  all_the_time,
  by_one_thread,
  by_one_thread_at_once  ///< and the entry method continues with data that has arrived meanwhile
};

/// Two elements, or one element with itself, send each other two spans in turn, copied or lent;
/// each entry method makes two releases and two sends. A late notification of a release leaves a
/// channel full.
template <class Cx>
struct volley : resident::chare {
  static constexpr std::uint32_t most = 100;
  resident::channel_in<std::uint32_t> m_in;
  resident::channel_out<std::uint32_t> m_out;
  resident::counter m_arrived, m_room;
  std::uint32_t m_data[2][most] = {};
  std::uint32_t m_left = 0, m_sent = 0, m_taken = 0;
  telling m_when = telling::at_the_end;
  resident::host_mailbox<std::uint32_t> m_end;

  constexpr void open(Cx& cx) {
    const auto both = cx.array_of(*this);
    cx.open(m_in, most, m_arrived, both[both.size() - 1 - index()], &volley::m_out,
            &volley::m_room);
  }
  constexpr void begin(Cx& cx, std::uint32_t rounds, telling when,
                       resident::host_mailbox<std::uint32_t> end) {
    cx.once([&] {
      m_left = rounds;
      m_when = when;
      m_end = end;
    });
    if (index() == 0)
      cx.when_counted(m_room, 2, entry<&volley::serve>);
    else
      cx.when_counted(m_room, 2, entry<&volley::wait>);
  }
  constexpr void serve(Cx& cx) {
    send_two(cx);
    wait(cx);
  }
  constexpr void wait(Cx& cx) { cx.when_counted(m_arrived, 2, entry<&volley::take>); }
  constexpr void take(Cx& cx) {
    if (m_when == telling::by_one_thread) return take_two(cx) ? wait(cx) : void();
    if (m_when == telling::by_one_thread_at_once) return take_in_a_row(cx);
    take_one(cx);
    flush_if(cx, telling::all_the_time);
    take_one(cx);
    if (cx.has_come(m_in)) cx.fail(4);
    flush_if(cx, telling::after_releases);
    const bool is_last = m_left == 1;
    cx.sync();
    cx.once([&] { --m_left; });
    if (!is_last || index() != 0) send_two(cx);
    is_last ? cx.contribute(m_taken, resident::reduction::sum, m_end) : wait(cx);
  }

  struct entries : resident::entries<&volley::open, &volley::begin, &volley::serve, &volley::wait,
                                     &volley::take> {};

 private:
  constexpr void flush_if(Cx& cx, telling when) const {
    if (m_when == when || m_when == telling::all_the_time) cx.flush();
  }
  constexpr void check(Cx& cx, std::span<const std::uint32_t> got, std::uint32_t n) const {
    if (got.size() != n % most) cx.fail(1);
    std::uint32_t wrong = 0;
    cx.for_each(std::uint32_t(got.size()),
                [&](std::uint32_t i) { wrong += got[i] == n + i ? 0 : 1; });
    if (cx.reduce(wrong, [](std::uint32_t a, std::uint32_t b) { return a + b; }) != 0) cx.fail(2);
  }
  constexpr void take_one(Cx& cx) {
    if (!cx.has_come(m_in)) cx.fail(3);
    check(cx, cx.received(m_in), m_taken);
    cx.release(m_in);
    cx.once([&] { ++m_taken; });
  }
  constexpr void take_in_a_row(Cx& cx) {
    do {
      if (!take_two(cx)) return;
    } while (cx.take(m_arrived, 2));
    wait(cx);
  }
  /// Takes two sends before it releases the first, and answers both. False: they were the last
  /// ones.
  [[nodiscard]] constexpr bool take_two(Cx& cx) {
    const bool is_last = m_left == 1, answers = !is_last || index() != 0;
    if (!cx.has_come(m_in, 1) || cx.has_come(m_in, 2)) cx.fail(3);
    for (std::uint32_t later = 0; later < 2; ++later)
      check(cx, cx.received(m_in, later), m_taken + later);
    const std::uint32_t n = m_sent;
    for (std::uint32_t which = 0; answers && which < 2; ++which) write_row(cx, n + which);
    cx.tell([&](auto ends) {
      for (std::uint32_t which = 0; which < 2; ++which) {
        ends.release(m_in);
        if (answers) ends.lend(m_out, row(n + which));
      }
      m_taken += 2;
      m_sent += 2;
      --m_left;
    });
    cx.sync();
    if (is_last) cx.contribute(m_taken, resident::reduction::sum, m_end);
    return !is_last;
  }
  [[nodiscard]] constexpr std::span<const std::uint32_t> row(std::uint32_t n) const {
    return {m_data[n % 2], n % most};  // the send that used this row before was released
  }
  constexpr void write_row(Cx& cx, std::uint32_t n) {
    cx.for_each(n % most, [&](std::uint32_t i) { m_data[n % 2][i] = n + i; });
  }
  constexpr void send_one(Cx& cx) {
    const std::uint32_t n = m_sent;
    write_row(cx, n);
    n % 3 == 0 ? cx.send(m_out, row(n)) : cx.lend(m_out, row(n));
    cx.once([&] { ++m_sent; });
  }
  constexpr void send_two(Cx& cx) {
    send_one(cx);
    flush_if(cx, telling::between_sends);
    send_one(cx);
  }
};

using link_program = resident::program<link, volley>;

}  // namespace starling_test
