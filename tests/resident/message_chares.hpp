// SPDX-License-Identifier: Apache-2.0
// Chares that send each other messages of all sizes. They support groups of any size, so that they
// run on devices, too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

/// Counts the messages of each sender and reports a wrong order.
template <class Cx>
struct receiver : resident::chare {
  std::uint32_t m_next[16] = {};
  std::uint32_t m_got = 0;
  bool m_is_right = true;
  constexpr void take(Cx& cx, std::uint32_t sender, std::uint32_t number, std::uint32_t all,
                      resident::host_mailbox<std::uint32_t> end) {
    cx.once([&] {
      m_is_right = m_next[sender]++ == number;
      ++m_got;
    });
    if (!m_is_right) cx.fail(number);
    if (m_got == all) cx.send(end, m_got);
  }
  struct entries : resident::entries<&receiver::take> {};
};

/// Sends `each` messages to each receiver, `at_once` in each turn.
template <class Cx>
struct sender : resident::chare {
  std::uint32_t m_sent = 0;
  constexpr void go(Cx& cx, resident::chare_array<receiver> to, std::uint32_t each,
                    std::uint32_t at_once, std::uint32_t senders,
                    resident::host_mailbox<std::uint32_t> end) {
    const std::uint32_t first = m_sent;
    const std::uint32_t last = first + at_once < each ? first + at_once : each;
    for (std::uint32_t i = first; i < last; ++i)
      for (std::uint32_t r = 0; r < to.size(); ++r)
        cx.invoke(to[r], entry<&receiver<Cx>::take>, index(), i, each * senders, end);
    cx.sync();  // all threads have read m_sent
    cx.once([&] { m_sent = last; });
    if (last < each)
      cx.invoke(cx.array_of(*this)[index()], entry<&sender::go>, to, each, at_once, senders, end);
  }
  struct entries : resident::entries<&sender::go> {};
};

/// An argument that fills most of a message.
struct wide {
  std::uint64_t words[10];
};

template <class Cx>
struct parrot : resident::chare {
  constexpr void few(Cx& cx, std::uint8_t a, double b, std::uint16_t c,
                     resident::host_mailbox<double> to) {
    cx.send(to, a + b + c);
  }
  constexpr void much(Cx& cx, wide w, resident::host_mailbox<wide> to) {
    for (auto& word : w.words) ++word;
    cx.send(to, w);
  }
  constexpr void none(Cx& cx) { cx.invoke(cx.array_of(*this)[index()], entry<&parrot::count>, 3); }
  constexpr void count(Cx&, int) {}
  struct entries : resident::entries<&parrot::few, &parrot::much, &parrot::none, &parrot::count> {};
};

/// Sends spans of its own memory to the next element, which checks them. The return of a lent span
/// and the receiver both send a value to the host: their order is undefined.
template <class Cx>
struct courier : resident::chare {
  resident::counter m_returned;

  [[nodiscard]] static constexpr std::uint32_t word(std::uint32_t round, std::uint32_t i) {
    return round * 2654435761u + i;
  }
  constexpr void send(Cx& cx, std::uint32_t round, std::uint32_t n, bool by_reference,
                      resident::host_mailbox<std::uint32_t> end) {
    const auto data = cx.template allocate<std::uint32_t>(n);
    cx.for_each(n, [&](std::uint32_t i) { data[i] = word(round, i); });
    cx.sync();
    const auto ring = cx.array_of(*this);
    const auto next = ring[(index() + 1) % ring.size()];
    const std::span<const std::uint32_t> view(data);
    if (by_reference)
      cx.invoke(next, entry<&courier::take>, round, end, cx.lend(view, m_returned));
    else
      cx.invoke(next, entry<&courier::take>, round, end, view);
    if (by_reference)
      cx.when_counted(m_returned, 1, entry<&courier::have_back>, n, end);
    else
      cx.for_each(n, [&](std::uint32_t i) { data[i] = 0; });  // the span is copied
  }
  constexpr void have_back(Cx& cx, std::uint32_t n, resident::host_mailbox<std::uint32_t> end) {
    cx.send(end, n);
  }
  constexpr void take(Cx& cx, std::uint32_t round, resident::host_mailbox<std::uint32_t> end,
                      std::span<const std::uint32_t> data) {
    std::uint32_t wrong = 0;
    cx.for_each(std::uint32_t(data.size()),
                [&](std::uint32_t i) { wrong += data[i] != word(round, i) ? 1 : 0; });
    wrong = cx.reduce(wrong, [](std::uint32_t a, std::uint32_t b) { return a + b; });
    if (wrong != 0) cx.fail(wrong);
    cx.send(end, static_cast<std::uint32_t>(data.size()));
  }
  struct entries : resident::entries<&courier::send, &courier::take, &courier::have_back> {};
};

/// Sends more spans at once than there are payload blocks. They wait in blocks of the sender, and
/// later messages must not overtake them.
template <class Cx>
struct burst : resident::chare {
  std::uint32_t m_next = 0, m_sent = 0;
  std::uint32_t m_words[64] = {};
  bool m_is_right = true;
  constexpr void go(Cx& cx, std::uint32_t spans, resident::host_mailbox<std::uint32_t> end) {
    const auto to = cx.array_of(*this)[1];
    const std::uint32_t first = m_sent;
    const std::uint32_t last = first + 2 < spans ? first + 2 : spans;
    for (std::uint32_t i = first; i < last; ++i) {
      cx.once([&] {
        for (auto& w : m_words) w = i;
      });
      cx.invoke(to, entry<&burst::take>, 2 * i, std::span<const std::uint32_t>(m_words));
      cx.invoke(to, entry<&burst::mark>, 2 * i + 1, 2 * spans, end);
    }
    cx.sync();  // all threads have read m_sent
    cx.once([&] { m_sent = last; });
    if (last < spans) cx.invoke(cx.array_of(*this)[0], entry<&burst::go>, spans, end);
  }
  constexpr void take(Cx& cx, std::uint32_t number, std::span<const std::uint32_t> words) {
    cx.once([&] {
      m_is_right = m_next++ == number && words.size() == 64;
      for (const auto w : words) m_is_right = m_is_right && 2 * w == number;
    });
    if (!m_is_right) cx.fail(number);
  }
  constexpr void mark(Cx& cx, std::uint32_t number, std::uint32_t all,
                      resident::host_mailbox<std::uint32_t> end) {
    cx.once([&] { m_is_right = m_next++ == number; });
    if (!m_is_right) cx.fail(number);
    if (m_next == all) cx.send(end, all);
  }
  struct entries : resident::entries<&burst::go, &burst::take, &burst::mark> {};
};

/// Sends its neighbour numbered messages of several lengths, some at a time; the next ones after
/// the neighbour's answer. So each element sends often to two elements, and no message waits.
template <class Cx>
struct stream : resident::chare {
  std::uint32_t m_next = 0, m_sent = 0;
  std::uint32_t m_words[64] = {};
  bool m_is_right = true;
  constexpr void go(Cx& cx, std::uint32_t each, std::uint32_t at_once,
                    resident::host_mailbox<std::uint32_t> end) {
    const auto to = neighbour(cx, 1);
    const std::uint32_t first = m_sent;
    const std::uint32_t last = first + at_once < each ? first + at_once : each;
    for (std::uint32_t i = first; i < last; ++i) send(cx, to, i);
    cx.sync();  // all threads have read m_sent
    cx.once([&] { m_sent = last; });
    cx.invoke(to, entry<&stream::answer>, last, each, at_once, end);
  }
  constexpr void take(Cx& cx, std::uint32_t number) { check(cx, number, true); }
  constexpr void take_wide(Cx& cx, std::uint32_t number, wide w) {
    check(cx, number, w.words[0] == number && w.words[9] == number);
  }
  constexpr void take_span(Cx& cx, std::uint32_t number, std::span<const std::uint32_t> words) {
    check(cx, number, words.size() == 64 && words.front() == number && words.back() == number);
  }
  /// Checks that `number` messages have arrived before.
  constexpr void answer(Cx& cx, std::uint32_t number, std::uint32_t each, std::uint32_t at_once,
                        resident::host_mailbox<std::uint32_t> end) {
    if (m_next != number) return cx.fail(number);
    if (number == each) return cx.send(end, number);
    cx.invoke(neighbour(cx, cx.array_of(*this).size() - 1), entry<&stream::go>, each, at_once, end);
  }
  struct entries : resident::entries<&stream::go, &stream::take, &stream::take_wide,
                                     &stream::take_span, &stream::answer> {};

 private:
  [[nodiscard]] constexpr resident::element_ref<stream> neighbour(Cx& cx, std::uint32_t by) const {
    const auto all = cx.array_of(*this);
    return all[(index() + by) % all.size()];
  }
  constexpr void send(Cx& cx, resident::element_ref<stream> to, std::uint32_t i) {
    if (i % 3 == 0) return cx.invoke(to, entry<&stream::take>, i);
    if (i % 3 == 1) {
      wide w = {};
      w.words[0] = w.words[9] = i;
      return cx.invoke(to, entry<&stream::take_wide>, i, w);
    }
    cx.once([&] {
      for (auto& w : m_words) w = i;
    });
    cx.invoke(to, entry<&stream::take_span>, i, std::span<const std::uint32_t>(m_words));
  }
  constexpr void check(Cx& cx, std::uint32_t number, bool is_right) {
    cx.once([&] { m_is_right = m_next++ == number; });
    if (!m_is_right || !is_right) cx.fail(number);
  }
};

/// All elements send to all, with rings of one slot, and add up the received numbers.
template <class Cx>
struct storm_chare : resident::chare {
  std::uint64_t m_sum = 0;
  std::uint32_t m_left = 0;
  std::uint32_t m_random = 0;
  constexpr void begin(Cx& cx, std::uint32_t rounds) {
    cx.once([&] {
      m_random = index() * 747796405u + 2891336453u;
      m_left = rounds;
    });
    cx.invoke(cx.array_of(*this)[index()], entry<&storm_chare::turn>);
  }
  constexpr void turn(Cx& cx) {
    if (m_left == 0) return;
    const auto all = cx.array_of(*this);
    std::uint32_t random = m_random;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      random = random * 747796405u + 2891336453u;
      cx.invoke(all[i], entry<&storm_chare::take>, random);
    }
    cx.sync();  // all threads have read m_random
    cx.once([&] {
      --m_left;
      m_random = random;
    });
    cx.invoke(all[index()], entry<&storm_chare::turn>);
  }
  constexpr void take(Cx& cx, std::uint32_t value) {
    cx.once([&] { m_sum += value; });
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::uint64_t> to) {
    cx.contribute(m_sum, resident::reduction::sum, to);
  }
  struct entries : resident::entries<&storm_chare::begin, &storm_chare::turn, &storm_chare::take,
                                     &storm_chare::tell> {};
};

using flood_program = resident::program<receiver, sender, stream>;
using parrot_program = resident::program<parrot>;
using courier_program = resident::program<courier>;
using burst_program = resident::program<burst>;
using storm_program = resident::program<storm_chare>;

}  // namespace starling_test
