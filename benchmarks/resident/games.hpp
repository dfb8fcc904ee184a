// SPDX-License-Identifier: Apache-2.0
//
// Runs of the resident program as questions of a benchmark. Each checks its own answer.
#pragma once

#include <cstdint>
#include <vector>

#include <starling/core.hpp>
#include <starling/resident.hpp>

#include "funnel.hpp"
#include "players.hpp"

namespace resident_bench {

using system = resident::system<program>;
using host_player = player<system::context>;
using host_crowd = crowd<system::context>;

/// Returns the sum of the numbers 2, 4 … `balls`, which the first player receives.
[[nodiscard]] constexpr std::uint64_t sum_of_even(std::uint64_t balls) noexcept {
  return balls / 2 * (balls / 2 + 1);
}
[[nodiscard]] constexpr std::uint64_t sum_up_to(std::uint64_t n) noexcept {
  return n * (n + 1) / 2;
}

/// A program of two players, the second on scheduler `other`. An item is one transfer of the ball.
class game {
 public:
  game(starling::runtime& rt, const resident::options& o, std::uint32_t other, ball kind,
       std::uint32_t balls, std::uint32_t length = 0)
      : m_system(rt, o), m_kind(kind), m_balls(balls) {
    m_end = m_system.make_host_mailbox<std::uint64_t>();
    m_players = m_system.create<player>(
        2, [other](std::uint32_t i) { return i * other; }, entry<&host_player::meet>, length,
        m_end);
  }

  starling::task<void> start() {
    co_await m_system.start();
    co_await m_system.quiescence();
  }

  [[nodiscard]] std::uint64_t items() const { return m_balls; }
  starling::task<void> prepare() {
    if (has_no_runtime()) co_return;
    co_await m_system.broadcast(m_players, entry<&host_player::begin>, m_kind, m_balls);
    co_await m_system.quiescence();
  }
  starling::task<std::uint64_t> play() {
    if (m_kind == ball::packet)
      co_await m_system.broadcast(m_players, entry<&host_player::play_packets>, m_balls);
    else if (m_kind == ball::memory)
      co_await m_system.broadcast(m_players, entry<&host_player::play_memory>, m_balls);
    else
      co_await m_system.invoke(m_players[0], entry<&host_player::serve>);
    co_return co_await m_system.receive(m_end);
  }
  [[nodiscard]] bool correct(std::uint64_t sum) const { return sum == sum_of_even(m_balls); }
  static void spoil(std::uint64_t& sum) { ++sum; }

 private:
  [[nodiscard]] bool has_no_runtime() const {
    return m_kind == ball::packet || m_kind == ball::memory;
  }

  system m_system;
  resident::host_mailbox<std::uint64_t> m_end;
  resident::chare_array<player> m_players;
  ball m_kind;
  std::uint32_t m_balls;
};

/// Work of a crowd.
enum class bustle { to_first, to_all, barriers, host };

/// A program with an element on each scheduler. An item is a message, a barrier, or a round trip
/// between the host and an element.
class gathering {
 public:
  gathering(starling::runtime& rt, const resident::options& o, bustle what, std::uint32_t each)
      : m_system(rt, o), m_what(what), m_each(each), m_size(m_system.scheduler_count()) {
    m_end = m_system.make_host_mailbox<std::uint64_t>();
    m_crowd =
        m_system.create<crowd>(m_size, resident::placement::block, entry<&host_crowd::meet>, m_end);
  }

  starling::task<void> start() { return m_system.start(); }

  [[nodiscard]] std::uint64_t items() const {
    if (m_what == bustle::to_first) return std::uint64_t(m_size - 1) * m_each;
    if (m_what == bustle::to_all) return std::uint64_t(m_size) * m_each;
    return m_each;
  }
  starling::task<void> prepare() {
    if (m_what == bustle::host) co_return;
    // An element that expects no number contributes its sum at once.
    const std::uint32_t all = m_what == bustle::to_first ? 0 : m_each;
    const std::uint32_t first = m_what == bustle::to_first ? (m_size - 1) * m_each : m_each;
    co_await m_system.broadcast(m_crowd, entry<&host_crowd::begin>, all, first);
    co_await m_system.quiescence();
  }
  starling::task<std::uint64_t> play() { return m_what == bustle::host ? ask() : run(); }
  [[nodiscard]] bool correct(std::uint64_t sum) const { return sum == expected(); }
  static void spoil(std::uint64_t& sum) { --sum; }

 private:
  [[nodiscard]] std::uint64_t expected() const {
    if (m_what == bustle::to_first) return (m_size - 1) * sum_up_to(m_each);
    if (m_what == bustle::to_all) return m_size * sum_up_to(m_each);
    if (m_what == bustle::barriers) return std::uint64_t(m_size) * m_each;
    return sum_up_to(m_each);
  }
  starling::task<std::uint64_t> run() {
    if (m_what == bustle::to_first)
      co_await m_system.broadcast(m_crowd, entry<&host_crowd::send_to_first>, m_each);
    else if (m_what == bustle::to_all)
      co_await m_system.broadcast(m_crowd, entry<&host_crowd::send_to_all>, m_each);
    else
      co_await m_system.broadcast(m_crowd, entry<&host_crowd::meet_often>, m_each);
    co_return co_await m_system.receive(m_end);
  }
  starling::task<std::uint64_t> ask() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 1; i <= m_each; ++i) {
      co_await m_system.invoke(m_crowd[m_size - 1], entry<&host_crowd::echo>, i);
      sum += co_await m_system.receive(m_end);
    }
    co_return sum;
  }

  system m_system;
  bustle m_what;
  std::uint32_t m_each;
  std::uint32_t m_size;
  resident::host_mailbox<std::uint64_t> m_end;
  resident::chare_array<crowd> m_crowd;
};

/// A program in which the schedulers of the first device put messages into a ring of one of them.
class draining {
  using system = resident::system<funnel_program>;
  using host = funnel<system::context>;

 public:
  static constexpr const char* question = "ring_to_first";

  draining(starling::runtime& rt, const resident::options& o, std::uint32_t each)
      : m_system(rt, o), m_senders(o.schedulers - 1), m_each(each) {
    m_end = m_system.make_host_mailbox<std::uint64_t>();
    m_funnel = m_system.create<funnel>(
        o.schedulers, [](std::uint32_t i) { return i; }, entry<&host::meet>, m_end);
  }

  starling::task<void> start() {
    co_await m_system.start();
    co_await m_system.quiescence();
  }

  [[nodiscard]] std::uint64_t items() const { return std::uint64_t(m_senders) * m_each; }
  static starling::task<void> prepare() { co_return; }
  starling::task<std::uint64_t> play() {
    co_await m_system.broadcast(m_funnel, entry<&host::play>, m_each);
    co_return co_await m_system.receive(m_end);
  }
  [[nodiscard]] bool correct(std::uint64_t sum) const {
    return sum == m_senders * sum_up_to(m_each);
  }
  static void spoil(std::uint64_t& sum) { --sum; }

 private:
  system m_system;
  std::uint32_t m_senders;
  std::uint32_t m_each;
  resident::host_mailbox<std::uint64_t> m_end;
  resident::chare_array<funnel> m_funnel;
};

}  // namespace resident_bench
