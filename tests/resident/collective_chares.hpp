// SPDX-License-Identifier: Apache-2.0
// Chares that contribute to reductions, receive broadcasts and migrate. They support groups of any
// size, so that they run on devices, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

template <class Cx>
struct member : resident::chare {
  std::uint32_t m_last = 0;
  std::uint32_t m_rounds = 0;
  resident::host_mailbox<double> m_end;

  /// Checks that the broadcasts of an array run in the same order on all elements.
  constexpr void hear(Cx& cx, std::uint32_t number) {
    if (number != m_last + 1) cx.fail(number);
    cx.sync();
    cx.once([&] { m_last = number; });
  }
  constexpr void speak(Cx& cx, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i <= last; ++i)
      cx.broadcast(cx.array_of(*this), entry<&member::hear>, i);
  }
  constexpr void to_host(Cx& cx, resident::host_mailbox<double> end) {
    cx.contribute(0.5 * index(), resident::reduction::sum, end);
    cx.contribute(double(index()), resident::reduction::max, end);
    cx.contribute(-1.0 * index(), resident::reduction::min, end);
  }
  /// Each round is a sum that is sent to all elements and begins the next round.
  constexpr void go(Cx& cx, std::uint32_t rounds, resident::host_mailbox<double> end) {
    cx.once([&] {
      m_rounds = rounds;
      m_end = end;
    });
    cx.contribute(std::int64_t{1}, resident::reduction::sum, cx.array_of(*this),
                  entry<&member::next>);
  }
  constexpr void next(Cx& cx, std::int64_t sum) {
    cx.once([&] {
      --m_rounds;
      m_last = std::uint32_t(sum);
    });
    if (m_rounds == 0)
      cx.contribute(cx.array_of(*this)[0], entry<&member::done>);
    else
      cx.contribute(sum + 1, resident::reduction::max, cx.array_of(*this), entry<&member::next>);
  }
  constexpr void done(Cx& cx) { cx.send(m_end, m_last); }
  /// Makes many contributions ahead of the remaining elements.
  constexpr void ahead(Cx& cx, std::uint32_t times, resident::host_mailbox<double> end) {
    for (std::uint32_t i = 0; i < times; ++i)
      cx.contribute(double(i), resident::reduction::sum, end);
  }
  struct entries : resident::entries<&member::hear, &member::speak, &member::to_host, &member::go,
                                     &member::next, &member::done, &member::ahead> {};
};

/// Migrates with each visit and keeps its counts; receives messages wherever it is.
template <class Cx>
struct nomad : resident::chare {
  std::uint32_t m_visits = 0;
  std::uint32_t m_heard = 0;
  resident::counter m_wanted;
  resident::host_mailbox<std::uint32_t> m_end;

  constexpr void wait(Cx& cx, std::uint32_t wanted, resident::host_mailbox<std::uint32_t> end) {
    cx.once([&] { m_end = end; });
    cx.when_counted(m_wanted, wanted, entry<&nomad::told>);
  }
  constexpr void move(Cx& cx, std::uint32_t of_device) {
    cx.once([&] { ++m_visits; });
    const std::uint32_t base = cx.scheduler_index() / of_device * of_device;
    cx.migrate(base + (cx.scheduler_index() + 1) % of_device);
    cx.arrive(m_wanted);
  }
  constexpr void hear(Cx& cx) {
    cx.once([&] { ++m_heard; });
  }
  constexpr void told(Cx& cx) { cx.contribute(m_visits, resident::reduction::sum, m_end); }
  constexpr void count(Cx& cx) { cx.contribute(m_heard, resident::reduction::sum, m_end); }
  constexpr void leave(Cx& cx, std::uint32_t to) { cx.migrate(to); }
  struct entries : resident::entries<&nomad::wait, &nomad::move, &nomad::hear, &nomad::told,
                                     &nomad::count, &nomad::leave> {};
};

using member_program = resident::program<member>;
using nomad_program = resident::program<nomad>;

}  // namespace starling_test
