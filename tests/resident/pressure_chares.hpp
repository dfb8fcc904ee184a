// SPDX-License-Identifier: Apache-2.0
// Chares that send more messages than there is room for. They support groups of any size, so that
// they run on devices, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// Sends many messages at once on request, and counts those it receives.
template <class Cx>
struct crowd : resident::chare {
  std::uint32_t m_got = 0;
  std::uint32_t m_data[64] = {};

  constexpr void send_spans(Cx& cx, std::uint32_t step, std::uint32_t times) {
    const auto all = cx.array_of(*this);
    for (std::uint32_t i = 0; i < times; ++i)
      cx.invoke(all[(index() + step) % all.size()], entry<&crowd::take_span>,
                std::span<const std::uint32_t>(m_data));
  }
  constexpr void send_small(Cx& cx, std::uint32_t step, std::uint32_t times) {
    const auto all = cx.array_of(*this);
    for (std::uint32_t i = 0; i < times; ++i)
      cx.invoke(all[(index() + step) % all.size()], entry<&crowd::take>);
  }
  constexpr void take_span(Cx& cx, std::span<const std::uint32_t> data) {
    cx.once([&] { m_got += data.size() == 64 ? 1 : 0; });
  }
  constexpr void take(Cx& cx) {
    cx.once([&] { ++m_got; });
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.contribute(m_got, resident::reduction::sum, to);
  }
  constexpr void tell_often(Cx& cx, std::uint32_t times, resident::host_mailbox<std::uint32_t> to) {
    for (std::uint32_t i = 0; i < times; ++i) cx.send(to, i);
  }
  constexpr void tell_and_stop(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    for (std::uint32_t i = 0; i < 10; ++i) cx.send(to, i);
    cx.stop();
  }
  struct entries
      : resident::entries<&crowd::send_spans, &crowd::send_small, &crowd::take_span, &crowd::take,
                          &crowd::tell, &crowd::tell_often, &crowd::tell_and_stop> {};
};

/// Long halos with reference numbers, from neighbours that may be ahead.
template <class Cx>
struct long_halo : resident::chare {
  static constexpr std::uint32_t length = 100;
  resident::counter m_halos;
  std::uint32_t m_row[length] = {};
  std::uint32_t m_sum = 0, m_iterations = 0;
  bool m_is_wrong = false;
  resident::host_mailbox<std::uint32_t> m_end;

  constexpr void begin(Cx& cx, std::uint32_t iterations,
                       resident::host_mailbox<std::uint32_t> end) {
    cx.once([&] {
      m_iterations = iterations;
      m_end = end;
    });
    iterate(cx);
  }
  constexpr void iterate(Cx& cx) {
    if (expected() == m_iterations) return cx.contribute(m_sum, resident::reduction::sum, m_end);
    cx.for_each(length, [&](std::uint32_t i) { m_row[i] = expected() + i; });
    const auto all = cx.array_of(*this);
    const std::uint32_t n = all.size();
    const std::span<const std::uint32_t> row(m_row);
    cx.invoke(all[(index() + 1) % n], entry<&long_halo::halo>, expected(), row);
    cx.invoke(all[(index() + n - 1) % n], entry<&long_halo::halo>, expected(), row);
    cx.when_counted(m_halos, 2, entry<&long_halo::update>);
  }
  constexpr void halo(Cx& cx, std::uint32_t number, std::span<const std::uint32_t> row) {
    cx.once([&] {
      for (std::uint32_t i = 0; i < length; ++i) m_is_wrong = m_is_wrong || row[i] != number + i;
      ++m_sum;
    });
    if (m_is_wrong || number != expected()) cx.fail(number);
    cx.arrive(m_halos);
  }
  constexpr void update(Cx& cx) {
    cx.expect(expected() + 1);
    iterate(cx);
  }
  struct entries : resident::entries<&long_halo::begin, &long_halo::iterate, &long_halo::halo,
                                     &long_halo::update> {};
  struct referenced : resident::entries<&long_halo::halo> {};
};

/// Receives numbered messages early; those of one sender must run in the order of their arrival.
template <class Cx>
struct orderly : resident::chare {
  std::uint32_t m_next = 0;
  bool m_is_right = true;

  constexpr void send(Cx& cx, std::uint32_t rounds, std::uint32_t each) {
    const auto to = cx.array_of(*this)[1];
    for (std::uint32_t r = 0; r < rounds; ++r)
      for (std::uint32_t i = 0; i < each; ++i)
        cx.invoke(to, entry<&orderly::take>, r, r * each + i);
    for (std::uint32_t r = 0; r < rounds; ++r) cx.invoke(to, entry<&orderly::go_on>, r + 1);
  }
  constexpr void take(Cx& cx, std::uint32_t, std::uint32_t number) {
    cx.once([&] { m_is_right = m_next++ == number; });
    if (!m_is_right) cx.fail(number);
  }
  constexpr void go_on(Cx& cx, std::uint32_t round) { cx.expect(round); }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::uint32_t> to) { cx.send(to, m_next); }
  struct entries
      : resident::entries<&orderly::send, &orderly::take, &orderly::go_on, &orderly::tell> {};
  struct referenced : resident::entries<&orderly::take> {};
};

/// Sends itself messages until data has arrived on a channel.
template <class Cx>
struct spinner : resident::chare {
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;
  float m_value = 1.5f;
  bool m_has_come = false;

  constexpr void open(Cx& cx) {
    cx.open(m_in, 1, m_arrived, cx.array_of(*this)[1 - index()], &spinner::m_out, &spinner::m_room);
    cx.when_counted(m_arrived, 1, entry<&spinner::take>);
  }
  constexpr void turn(Cx& cx) {
    if (!m_has_come) cx.invoke(cx.array_of(*this)[index()], entry<&spinner::turn>);
  }
  constexpr void send(Cx& cx) { cx.send(m_out, std::span<const float>(&m_value, 1)); }
  constexpr void take(Cx& cx) {
    cx.once([&] { m_has_come = true; });
    cx.release(m_in);
  }
  struct entries
      : resident::entries<&spinner::open, &spinner::turn, &spinner::send, &spinner::take> {};
};

struct alignas(16) four {
  float x, y, z, w;
};

/// Receives spans of aligned elements behind other arguments.
template <class Cx>
struct aligned_taker : resident::chare {
  four m_data[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  constexpr void send(Cx& cx, std::uint32_t n, resident::host_mailbox<float> to) {
    cx.invoke(cx.array_of(*this)[0], entry<&aligned_taker::take>, std::uint8_t{1}, to,
              std::span<const four>(m_data, n));
  }
  constexpr void take(Cx& cx, std::uint8_t, resident::host_mailbox<float> to,
                      std::span<const four> data) {
    float sum = 0;
    for (const four& f : data) sum += f.x + f.y + f.z + f.w;
    cx.send(to, sum);
  }
  struct entries : resident::entries<&aligned_taker::send, &aligned_taker::take> {};
};

using crowd_program = resident::program<crowd>;
using long_halo_program = resident::program<long_halo>;
using orderly_program = resident::program<orderly>;
using spinner_program = resident::program<spinner>;
using aligned_program = resident::program<aligned_taker>;

}  // namespace starling_test
