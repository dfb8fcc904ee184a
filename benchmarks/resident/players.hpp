// SPDX-License-Identifier: Apache-2.0
//
// The resident program that is measured: two players with balls of all kinds, and crowds.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace resident_bench {

namespace resident = starling::resident;
using resident::entry;

/// Kinds of balls that the players send each other.
enum class ball : std::uint32_t {
  number,   ///< a message with four bytes of arguments
  words,    ///< a message with 80 bytes of arguments
  block,    ///< a span, sent in a payload block
  signal,   ///< raises a counter for which an entry method waits
  channel,  ///< a span through a channel
  packet,   ///< without the runtime: 16 bytes that each player polls for
  memory    ///< without the runtime: a span stored in the peer's memory, then 16 bytes
};

/// Arguments of 80 bytes.
struct words {
  std::uint32_t number[20];
};

template <class Cx>
struct group_of;
template <class Group, class Program>
struct group_of<resident::context<Group, Program>> {
  using type = Group;
};

/// Elements 0 and 1 of an array send a ball to and fro, which carries its number.
template <class Cx>
struct player : resident::chare {
  using group = typename group_of<Cx>::type;

  resident::host_mailbox<std::uint64_t> m_end;
  ball m_kind = ball::number;
  std::uint32_t m_floats = 0;
  std::uint32_t m_left = 0;  // balls that are still to arrive
  std::uint64_t m_sum = 0;   // of their numbers
  std::uint32_t m_got = 0;
  std::uint32_t* m_data = nullptr;
  words m_words = {};
  resident::channel_in<std::uint32_t> m_in;
  resident::channel_out<std::uint32_t> m_out;
  resident::counter m_arrived, m_room, m_signals;
  // For games without the runtime: memory that the peer writes.
  resident::detail::slot* m_slot = nullptr;
  std::uint64_t m_their_slot = 0, m_their_data = 0;
  std::uint32_t m_packets = 0;

  // --- called once
  constexpr void meet(Cx& cx, std::uint32_t length, resident::host_mailbox<std::uint64_t> end) {
    const auto mine = cx.template allocate<std::uint32_t>(length + 1);
    const auto slots = cx.template allocate<resident::detail::slot>(1);
    cx.for_each(length, [&](std::uint32_t i) { mine[i] = i; });
    cx.once([&] {
      m_end = end;
      m_floats = length;
      m_data = mine.data();
      m_slot = slots.data();
      *m_slot = {};
    });
    const auto other = cx.array_of(*this)[1 - index()];
    cx.open(m_in, length + 1, m_arrived, other, &player::m_out, &player::m_room);
    cx.invoke(other, entry<&player::be_told>, reinterpret_cast<std::uint64_t>(m_slot),
              reinterpret_cast<std::uint64_t>(m_data));
  }
  constexpr void be_told(Cx& cx, std::uint64_t their_slot, std::uint64_t their_data) {
    cx.once([&] {
      m_their_slot = their_slot;
      m_their_data = their_data;
    });
  }

  // --- a game of `balls`, an even number; the first player serves
  constexpr void begin(Cx& cx, ball kind, std::uint32_t balls) {
    cx.once([&] {
      m_kind = kind;
      m_left = balls / 2;
      m_sum = 0;
      m_got = 0;
    });
    wait_for_next<ball::signal>(cx);
    wait_for_next<ball::channel>(cx);
  }
  constexpr void serve(Cx& cx) {
    serve_if<ball::number>(cx);
    serve_if<ball::words>(cx);
    serve_if<ball::block>(cx);
    serve_if<ball::signal>(cx);
    serve_if<ball::channel>(cx);
  }

  constexpr void take_number(Cx& cx, std::uint32_t number) { take<ball::number>(cx, number, true); }
  constexpr void take_words(Cx& cx, words all) {
    take<ball::words>(cx, all.number[0], all.number[19] == all.number[0] + 19);
  }
  constexpr void take_block(Cx& cx, std::span<const std::uint32_t> data) {
    const bool is_right = is_whole(cx, data);
    cx.sync();  // all threads have read the members
    take<ball::block>(cx, data.front(), is_right);
  }
  /// A signal carries no number: signals are counted, and none may arrive too early.
  constexpr void take_signal(Cx& cx) {
    const std::uint32_t number = 2 * m_got + 2 - index();
    const bool is_right = m_signals.arrived() == 0;
    cx.sync();
    take<ball::signal>(cx, number, is_right);
  }
  constexpr void take_channel(Cx& cx) {
    const auto data = cx.received(m_in);
    const std::uint32_t number = data.front();
    const bool is_right = is_whole(cx, data);
    cx.release(m_in);
    take<ball::channel>(cx, number, is_right);
  }

  // --- games without the runtime; each player plays a whole game in one entry method
  constexpr void play_packets(Cx& cx, std::uint32_t balls) {
    cx.once([&] {
      m_left = balls / 2;
      m_sum = 0;
      for (std::uint32_t number = 1; number <= balls; ++number) {
        if (is_mine(number))
          put(number);
        else if (!await(number))
          return;
      }
    });
    end_of_game(cx);
  }
  /// As above, with memory that all threads write before each number.
  constexpr void play_memory(Cx& cx, std::uint32_t balls) {
    cx.once([&] {
      m_left = balls / 2;
      m_sum = 0;
    });
    for (std::uint32_t number = 1; number <= balls; ++number) {
      if (is_mine(number)) {
        mark(cx, number);
        resident::detail::copy_by_all(cx, reinterpret_cast<std::uint32_t*>(m_their_data),
                                      std::span<const std::uint32_t>(m_data, m_floats));
        cx.sync();
        cx.once([&] {
          group::release_data();
          put(number);
        });
      } else {
        const std::uint32_t before = m_left;
        cx.sync();
        cx.once([&] { static_cast<void>(await(number)); });
        group::acquire_data();
        const std::span<const std::uint32_t> data(m_data, m_floats);
        if (m_left == before || data.front() != number || data.back() != number)
          return cx.fail(number);
        cx.sync();  // all threads have read the data
      }
    }
    end_of_game(cx);
  }

  struct entries : resident::entries<&player::take_number, &player::take_words, &player::take_block,
                                     &player::take_signal, &player::take_channel, &player::meet,
                                     &player::be_told, &player::begin, &player::serve,
                                     &player::play_packets, &player::play_memory> {};

 private:
  /// Counts a ball and sends the next. All threads must have read the members that they need. A
  /// template, so that each kind of ball has code of its own, as entry methods of an application
  /// have: unused code between the code that runs would cost time.
  template <ball Kind>
  constexpr void take(Cx& cx, std::uint32_t number, bool is_right) {
    cx.once([&] {
      m_sum += number;
      ++m_got;
      --m_left;
    });
    if (!is_right) return cx.fail(number);
    if (m_left != 0) wait_for_next<Kind>(cx);
    if (m_left != 0 || index() == 1)
      send<Kind>(cx, number + 1);
    else
      cx.send(m_end, m_sum);
  }
  /// Registers the next wait, in games with balls that are awaited by a counter.
  template <ball Kind>
  constexpr void wait_for_next(Cx& cx) {
    if constexpr (Kind == ball::signal)
      if (m_kind == Kind) cx.when_counted(m_signals, 1, entry<&player::take_signal>);
    if constexpr (Kind == ball::channel)
      if (m_kind == Kind) cx.when_counted(m_arrived, 1, entry<&player::take_channel>);
  }
  template <ball Kind>
  constexpr void serve_if(Cx& cx) {
    if (m_kind == Kind) send<Kind>(cx, 1);
  }
  template <ball Kind>
  constexpr void send(Cx& cx, std::uint32_t number) {
    const auto other = cx.array_of(*this)[1 - index()];
    if constexpr (Kind == ball::number) {
      cx.invoke(other, entry<&player::take_number>, number);
    } else if constexpr (Kind == ball::signal) {
      cx.signal(other, &player::m_signals);
    } else if constexpr (Kind == ball::words) {
      cx.once([&] {
        m_words.number[0] = number;
        m_words.number[19] = number + 19;
      });
      cx.invoke(other, entry<&player::take_words>, m_words);
    } else {
      mark(cx, number);
      const std::span<const std::uint32_t> data(m_data, m_floats);
      if constexpr (Kind == ball::block)
        cx.invoke(other, entry<&player::take_block>, data);
      else
        cx.send(m_out, data);
    }
  }
  /// Writes the number at the beginning and the end of the data.
  constexpr void mark(Cx& cx, std::uint32_t number) {
    cx.once([&] { m_data[0] = m_data[m_floats - 1] = number; });
  }
  /// Checks the ends of the data in each ball, and all data in the last ball.
  [[nodiscard]] constexpr bool is_whole(Cx& cx, std::span<const std::uint32_t> data) const {
    if (data.size() != m_floats || data.back() != data.front()) return false;
    if (m_left != 1) return true;
    std::uint32_t wrong = 0;
    cx.for_each(m_floats - 2, [&](std::uint32_t i) { wrong += data[i + 1] == i + 1 ? 0 : 1; });
    return cx.reduce(wrong, [](std::uint32_t x, std::uint32_t y) { return x + y; }) == 0;
  }
  [[nodiscard]] constexpr bool is_mine(std::uint32_t number) const {
    return number % 2 == 1 - index();
  }
  constexpr void put(std::uint32_t number) {
    resident::detail::message m{};
    m.target = number;
    auto& theirs = *reinterpret_cast<resident::detail::slot*>(m_their_slot);
    group::put(theirs, theirs, m, 1, ++m_packets);  // mapped memory: the image is not used
  }
  /// Polls for a ball. Returns false if none arrives for two seconds, or one with a wrong number.
  [[nodiscard]] constexpr bool await(std::uint32_t number) {
    constexpr std::uint64_t most_ns = 2'000'000'000;
    resident::detail::unit_words first{};
    ++m_packets;
    const std::uint64_t began = group::now_ns();
    for (std::uint32_t i = 1; !group::has_come(*m_slot, m_packets, first); ++i)
      if (i % 1024 == 0 && group::now_ns() - began > most_ns) return false;
    if (first.word[0] != number) return false;
    m_sum += number;
    --m_left;
    return true;
  }
  constexpr void end_of_game(Cx& cx) {
    if (m_left != 0) return cx.fail(m_left);
    if (index() == 0) cx.send(m_end, m_sum);
  }
};

/// Elements that send each other numbers as fast as they can.
template <class Cx>
struct crowd : resident::chare {
  static constexpr std::uint32_t at_once = 32;
  resident::host_mailbox<std::uint64_t> m_end;
  std::uint32_t m_wanted = 0, m_got = 0;
  std::uint64_t m_sum = 0;

  constexpr void meet(Cx& cx, resident::host_mailbox<std::uint64_t> end) {
    cx.once([&] { m_end = end; });
  }
  /// Prepares a run in which the first element expects `wanted_by_first` numbers, each remaining
  /// element `wanted_by_all`. An element contributes its sum when it has all its numbers.
  constexpr void begin(Cx& cx, std::uint32_t wanted_by_all, std::uint32_t wanted_by_first) {
    cx.once([&] {
      m_wanted = index() == 0 ? wanted_by_first : wanted_by_all;
      m_got = 0;
      m_sum = 0;
    });
    if (m_wanted == 0) tell(cx);
  }
  /// All elements but the first send the first `left` numbers each.
  constexpr void send_to_first(Cx& cx, std::uint32_t left) {
    if (index() == 0) return;
    const auto all = cx.array_of(*this);
    const std::uint32_t now = left < at_once ? left : at_once;
    for (std::uint32_t i = 0; i < now; ++i) cx.invoke(all[0], entry<&crowd::take>, left - i);
    if (left > now) cx.invoke(all[index()], entry<&crowd::send_to_first>, left - now);
  }
  /// Each element sends `left` numbers to all remaining elements in turn: all receive equal counts.
  constexpr void send_to_all(Cx& cx, std::uint32_t left) {
    const auto all = cx.array_of(*this);
    const std::uint32_t now = left < at_once ? left : at_once, n = all.size();
    for (std::uint32_t i = 0; i < now; ++i)
      cx.invoke(all[(index() + 1 + (left - i) % (n - 1)) % n], entry<&crowd::take>, left - i);
    if (left > now) cx.invoke(all[index()], entry<&crowd::send_to_all>, left - now);
  }
  constexpr void take(Cx& cx, std::uint32_t number) {
    cx.once([&] {
      m_sum += number;
      ++m_got;
    });
    if (m_got == m_wanted) tell(cx);
  }
  /// Runs `left` barriers, one after the other.
  constexpr void meet_often(Cx& cx, std::uint32_t left) {
    cx.once([&] { m_wanted = left; });
    cx.contribute(cx.array_of(*this), entry<&crowd::have_met>);
  }
  constexpr void have_met(Cx& cx) {
    cx.once([&] {
      --m_wanted;
      ++m_sum;
    });
    if (m_wanted != 0)
      cx.contribute(cx.array_of(*this), entry<&crowd::have_met>);
    else
      tell(cx);
  }
  constexpr void echo(Cx& cx, std::uint32_t number) { cx.send(m_end, number); }

  struct entries
      : resident::entries<&crowd::take, &crowd::send_to_first, &crowd::send_to_all, &crowd::meet,
                          &crowd::begin, &crowd::meet_often, &crowd::have_met, &crowd::echo> {};

 private:
  constexpr void tell(Cx& cx) { cx.contribute(m_sum, resident::reduction::sum, m_end); }
};

using program = resident::program<player, crowd>;

}  // namespace resident_bench
