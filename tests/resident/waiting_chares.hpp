// SPDX-License-Identifier: Apache-2.0
// Chares that wait for each other. They support groups of any size, so that they run on devices,
// too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// A one-dimensional halo exchange with messages that may arrive an iteration early.
template <class Cx>
struct cell_chare : resident::chare {
  std::uint32_t m_iterations = 0;
  std::uint64_t m_value = 0, m_sum = 0;
  resident::counter m_halos;
  resident::host_mailbox<std::uint64_t> m_end;

  constexpr void begin(Cx& cx, std::uint32_t iterations,
                       resident::host_mailbox<std::uint64_t> end) {
    cx.once([&] {
      m_iterations = iterations;
      m_value = index() + 1;
      m_end = end;
    });
    iterate(cx);
  }
  constexpr void iterate(Cx& cx) {
    if (expected() == m_iterations) return cx.contribute(m_value, resident::reduction::sum, m_end);
    const auto all = cx.array_of(*this);
    const std::uint32_t n = all.size();
    cx.invoke(all[(index() + 1) % n], entry<&cell_chare::halo>, expected(), m_value);
    cx.invoke(all[(index() + n - 1) % n], entry<&cell_chare::halo>, expected(), m_value);
    cx.when_counted(m_halos, 2, entry<&cell_chare::update>);
  }
  constexpr void halo(Cx& cx, std::uint32_t iteration, std::uint64_t value) {
    if (iteration != expected()) cx.fail(iteration);
    cx.once([&] { m_sum += value; });
    cx.arrive(m_halos);
  }
  constexpr void update(Cx& cx) {
    cx.once([&] {
      m_value = (m_value + m_sum) % 1000003;
      m_sum = 0;
    });
    cx.expect(expected() + 1);
    iterate(cx);
  }
  struct entries : resident::entries<&cell_chare::begin, &cell_chare::iterate, &cell_chare::halo,
                                     &cell_chare::update> {};
  struct referenced : resident::entries<&cell_chare::halo> {};
};

/// Uses counters in many ways.
template <class Cx>
struct patient : resident::chare {
  resident::counter m_all, m_own;
  std::uint32_t m_fired = 0;

  constexpr void early(Cx& cx) { cx.arrive(m_own, 3); }
  constexpr void wait(Cx& cx, std::uint32_t wanted, resident::host_mailbox<std::uint32_t> to) {
    cx.when_counted(m_all, wanted, entry<&patient::tell>, wanted, to);
  }
  constexpr void wait_own(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.when_counted(m_own, 2, entry<&patient::tell>, 2u, to);
    cx.sync();
    if (m_own.arrived() != 1) cx.fail(m_own.arrived());  // two of three are used
  }
  /// Takes two as often as possible, then waits for one more.
  constexpr void take_own(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    std::uint32_t times = 0;
    while (cx.take(m_own, 2)) ++times;
    const auto most =
        cx.reduce(times, [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; });
    if (most != times) cx.fail(times);  // threads that got different results
    cx.when_counted(m_own, 1, entry<&patient::tell>, times, to);
  }
  /// Waits for 0 arrivals `left` times, then counts one for another counter's wait.
  constexpr void wait_for_none(Cx& cx, std::uint32_t left) {
    if (left == 0)
      cx.arrive(m_all);
    else
      cx.when_counted(m_own, 0, entry<&patient::wait_for_none>, left - 1);
  }
  constexpr void tell(Cx& cx, std::uint32_t wanted, resident::host_mailbox<std::uint32_t> to) {
    cx.once([&] { ++m_fired; });
    cx.send(to, 100 * m_fired + wanted);
  }
  constexpr void signal(Cx& cx, std::uint32_t to, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) cx.signal(cx.array_of(*this)[to], &patient::m_all);
  }
  /// Sends itself 1, a signal that causes 2, and 3.
  constexpr void tell_in_order(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    const auto self = cx.array_of(*this)[index()];
    cx.when_counted(m_all, 1, entry<&patient::tell>, 2u, to);
    cx.invoke(self, entry<&patient::tell>, 1u, to);
    cx.signal(self, &patient::m_all);
    cx.invoke(self, entry<&patient::tell>, 3u, to);
  }
  /// Signals itself, and runs again by that signal, until `end_turns` has run.
  constexpr void turn(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    if (m_fired != 0) return cx.send(to, m_fired);
    cx.when_counted(m_all, 1, entry<&patient::turn>, to);
    cx.signal(cx.array_of(*this)[index()], &patient::m_all);
  }
  constexpr void end_turns(Cx& cx) {
    cx.once([&] { ++m_fired; });
  }
  constexpr void signal_and_wait(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.signal(cx.array_of(*this)[index()], &patient::m_all);
    cx.when_counted(m_all, 1, entry<&patient::tell>, 4u, to);
  }
  /// Migrates to the next scheduler of its device.
  constexpr void move(Cx& cx, std::uint32_t of_device) {
    const std::uint32_t here = cx.scheduler_index();
    cx.migrate(here / of_device * of_device + (here + 1) % of_device);
  }
  struct entries
      : resident::entries<&patient::early, &patient::wait, &patient::wait_own, &patient::take_own,
                          &patient::wait_for_none, &patient::tell, &patient::signal, &patient::move,
                          &patient::tell_in_order, &patient::signal_and_wait, &patient::turn,
                          &patient::end_turns> {};
};

/// Work that spreads: each element sends to two elements until the depth is reached.
template <class Cx>
struct spreading : resident::chare {
  constexpr void spread(Cx& cx, std::uint32_t depth) {
    const auto all = cx.array_of(*this);
    if (depth == 0) return;
    cx.invoke(all[(index() * 2 + 1) % all.size()], entry<&spreading::spread>, depth - 1);
    cx.invoke(all[(index() * 2 + 2) % all.size()], entry<&spreading::spread>, depth - 1);
  }
  constexpr void spread_and_tell(Cx& cx, std::uint32_t depth, resident::host_mailbox<int> to) {
    cx.when_quiescent(cx.array_of(*this)[index()], entry<&spreading::tell>, to);
    spread(cx, depth);
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<int> to) { cx.send(to, 1); }
  struct entries
      : resident::entries<&spreading::spread, &spreading::spread_and_tell, &spreading::tell> {};
};

using cell_program = resident::program<cell_chare>;
using patient_program = resident::program<patient>;
using spreading_program = resident::program<spreading>;

}  // namespace starling_test
