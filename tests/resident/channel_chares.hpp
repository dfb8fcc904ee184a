// SPDX-License-Identifier: Apache-2.0
// Chares with channels. Written for groups of any size, so that devices run them, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// A ring in which each element has a channel to the next one and data goes all ways at once.
template <class Cx>
struct link : resident::chare {
  static constexpr std::uint32_t most = 300;
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;
  std::uint32_t m_left = 0, m_step = 0;
  float m_sum = 0;
  float m_data[most + 1] = {};
  resident::mailbox<float> m_end;

  constexpr void open(Cx& cx) {
    const auto ring = cx.array_of(*this);
    const auto before = ring[(index() + ring.size() - 1) % ring.size()];
    cx.open(m_in, most, m_arrived, before, &link::m_out, &link::m_room);
  }
  constexpr void begin(Cx& cx, std::uint32_t steps, resident::mailbox<float> end) {
    cx.once([&] {
      m_left = steps;
      m_end = end;
    });
    step(cx);
  }
  constexpr void step(Cx& cx) {
    if (m_left == 0) return cx.contribute(m_sum, resident::reduction::sum, m_end);
    cx.when(m_room, 1, entry<&link::send>);
  }
  constexpr void send(Cx& cx) {
    const std::uint32_t n = m_step % most;  // another length each time
    cx.for_each(n, [&](std::uint32_t i) { m_data[i] = float(index() + m_step + i); });
    cx.send(m_out, std::span<const float>(m_data, n));
    cx.when(m_arrived, 1, entry<&link::take>);
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
  /// Three sends although nobody releases.
  constexpr void overrun(Cx& cx) { cx.when(m_room, 1, entry<&link::flood>); }
  constexpr void flood(Cx& cx) {
    for (int i = 0; i < 3; ++i) cx.send(m_out, std::span<const float>(&m_sum, 1));
  }
  constexpr void too_long(Cx& cx) { cx.when(m_room, 1, entry<&link::send_too_long>); }
  constexpr void send_too_long(Cx& cx) { cx.send(m_out, std::span<const float>(m_data)); }
  constexpr void too_early(Cx& cx) { cx.send(m_out, std::span<const float>(&m_sum, 1)); }
  constexpr void move(Cx& cx) { cx.migrate((cx.scheduler_index() + 1) % cx.scheduler_count()); }

  using entries = resident::entries<&link::open, &link::begin, &link::step, &link::send,
                                    &link::take, &link::overrun, &link::flood, &link::too_long,
                                    &link::send_too_long, &link::too_early, &link::move>;
};

using link_program = resident::program<link>;

}  // namespace starling_test
