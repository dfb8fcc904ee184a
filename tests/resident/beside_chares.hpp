// SPDX-License-Identifier: Apache-2.0
// A program that stays busy while the host's streams work, and the kernel of these streams.
#pragma once

#include <cstdint>

#include <starling/device/kernel.hpp>
#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// Sends itself a message after each message, until it is stopped.
template <class Cx>
struct metronome : resident::chare {
  std::uint32_t m_ticks = 0;
  bool m_is_over = false;

  constexpr void tick(Cx& cx) {
    cx.once([&] { ++m_ticks; });
    if (!m_is_over) cx.invoke(cx.array_of(*this)[index()], entry<&metronome::tick>);
  }
  constexpr void echo(Cx& cx, std::uint32_t number, resident::host_mailbox<std::uint32_t> to) {
    cx.send(to, number + index());
  }
  constexpr void stop(Cx& cx) {
    cx.once([&] { m_is_over = true; });
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.contribute(m_ticks != 0 ? 1u : 0u, resident::reduction::sum, to);
  }
  struct entries
      : resident::entries<&metronome::tick, &metronome::echo, &metronome::stop, &metronome::tell> {
  };
};

using metronome_program = resident::program<metronome>;

/// A kernel for the host's streams: a·x + index.
struct scale_and_shift {
  std::uint32_t* x;
  std::uint32_t factor;
  constexpr void operator()(starling::index3 i) const {
    x[i.x] = factor * x[i.x] + static_cast<std::uint32_t>(i.x);
  }
};

}  // namespace starling_test
