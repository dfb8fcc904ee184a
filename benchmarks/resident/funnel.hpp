// SPDX-License-Identifier: Apache-2.0
//
// The rate of a ring without a scheduler: elements put messages into the ring of one element with
// the code of senders, and a warp of that element takes them out with the code of a receiver.
#pragma once

#include <cstdint>

#include <starling/resident/context.hpp>

#include "players.hpp"

namespace resident_bench {

/// Elements of one device, one on each scheduler; the first element has the ring.
template <class Cx>
struct funnel : resident::chare {
  using group = typename group_of<Cx>::type;
  static constexpr std::uint32_t slots = 1024;
  static constexpr std::uint32_t at_once = 32, looks_in_vain = 1024;
  static constexpr std::uint64_t most_ns = 2'000'000'000;

  /// A word in a cache line of its own, as in a scheduler.
  struct alignas(128) word {
    std::uint32_t value;
  };

  resident::host_mailbox<std::uint64_t> m_end;
  resident::detail::slot* m_ring = nullptr;
  word* m_ticket = nullptr;  // incremented by senders
  word* m_taken = nullptr;   // stored by the receiver from time to time
  // State of a sender.
  std::uint32_t m_number = 0, m_last = 0;
  std::uint32_t m_mine = 0;  // the ticket of the next message, if m_has_ticket
  bool m_has_ticket = false;
  std::uint32_t m_known = 0;  // the value of m_taken that was read last
  // State of the receiver.
  resident::detail::message* m_text = nullptr;  // memory for received messages
  std::uint32_t m_received = 0, m_told = 0, m_wanted = 0;
  std::uint64_t m_sum = 0;
  std::uint64_t m_since = 0;  // when messages ceased to arrive; 0: they arrive
  bool m_is_late = false;

  constexpr void meet(Cx& cx, resident::host_mailbox<std::uint64_t> end) {
    cx.once([&] { m_end = end; });
    if (index() != 0) return;
    const auto ring = cx.template allocate<resident::detail::slot>(slots);
    const auto words = cx.template allocate<word>(2);
    const auto texts = cx.template allocate<resident::detail::message>(group::lanes);
    cx.for_each(slots, [&](std::uint32_t i) { ring[i] = {}; });
    cx.once([&] {
      words[0] = words[1] = {};
      m_text = texts.data();
    });
    const auto all = cx.array_of(*this);
    for (std::uint32_t i = 0; i < all.size(); ++i)
      cx.invoke(all[i], entry<&funnel::be_told>, reinterpret_cast<std::uint64_t>(ring.data()),
                reinterpret_cast<std::uint64_t>(words.data()));
  }
  constexpr void be_told(Cx& cx, std::uint64_t ring, std::uint64_t words) {
    cx.once([&] {
      m_ring = reinterpret_cast<resident::detail::slot*>(ring);
      m_ticket = reinterpret_cast<word*>(words);
      m_taken = m_ticket + 1;
    });
  }
  /// Starts a run: all elements but the first put the numbers 1 to `each`, the first adds them up.
  constexpr void play(Cx& cx, std::uint32_t each) {
    cx.once([&] {
      m_number = 1;
      m_last = each;
      m_wanted = m_received + each * (cx.array_of(*this).size() - 1);
      m_sum = 0;
      m_since = 0;
    });
    index() == 0 ? drain(cx) : push(cx);
  }
  /// Puts messages while there is room. Does not wait: on the host other elements need the thread.
  constexpr void push(Cx& cx) {
    cx.once([&] {
      for (std::uint32_t n = 0; n < at_once && m_number <= m_last && put(m_number); ++n) ++m_number;
    });
    if (m_number <= m_last) cx.invoke(cx.array_of(*this)[index()], entry<&funnel::push>);
  }
  constexpr void drain(Cx& cx) {
    std::uint64_t sum = 0;
    if (std::uint32_t(cx.rank()) < group::lanes) take(sum);
    sum = cx.reduce(sum, [](std::uint64_t x, std::uint64_t y) { return x + y; });
    cx.once([&] {
      m_sum += sum;
      m_is_late = m_since != 0 && group::now_ns() - m_since > most_ns;
    });
    if (m_received == m_wanted) return cx.send(m_end, m_sum);
    if (m_is_late) return cx.fail(m_received);
    cx.invoke(cx.array_of(*this)[0], entry<&funnel::drain>);
  }

  struct entries : resident::entries<&funnel::meet, &funnel::be_told, &funnel::play, &funnel::push,
                                     &funnel::drain> {};

 private:
  /// Puts a message into the ring. Returns false if there is no room yet.
  [[nodiscard]] constexpr bool put(std::uint32_t number) {
    if (!m_has_ticket) m_mine = group::take_ticket(&m_ticket->value);
    m_has_ticket = true;
    if (m_mine - m_known >= slots) m_known = group::load_credit(&m_taken->value);
    if (m_mine - m_known >= slots) return false;
    resident::detail::message m{};
    m.target = number;
    auto& into = m_ring[m_mine % slots];
    group::put(into, into, m, 1, m_mine + 1);  // mapped memory: the image is not used
    m_has_ticket = false;
    return true;
  }
  /// Takes messages with all lanes of a warp (a group on a device has several warps). `sum` adds up
  /// the numbers that this lane has read. Ends with the last message, or after `looks_in_vain`
  /// polls without a message.
  constexpr void take(std::uint64_t& sum) {
    const std::uint32_t last = m_wanted;
    std::uint32_t number = m_received, told = m_told, idle = 0;
    bool is_flood = false;
    while (number != last && idle != looks_in_vain) {
      const std::uint32_t mine = number + group::which_slot(is_flood);
      const auto found = group::look(m_ring[mine % slots], mine + 1, is_flood);
      const std::uint32_t count = found.empty() ? 0 : collect(found, last - number, sum);
      is_flood = found.is_flood(count);
      idle = count != 0 ? 0 : idle + 1;
      number += count;
      if (number - told < slots / 4) continue;
      told = number;
      if (group::lane() == 0) group::store_credit(&m_taken->value, number);
    }
    group::sync_lanes();  // all lanes have read the members
    if (group::lane() != 0) return;
    if (number != m_received)
      m_since = 0;
    else if (m_since == 0)
      m_since = group::now_ns();
    m_received = number;
    m_told = told;
  }
  template <class Found>
  [[nodiscard]] constexpr std::uint32_t collect(const Found& found, std::uint32_t most,
                                                std::uint64_t& sum) const {
    const auto first_word = [](const resident::detail::unit_words& first) { return first.word[0]; };
    const auto add = [&sum](std::uint32_t, std::uint32_t sent) { sum += sent; };
    const auto taken = found.collect(
        most, true, first_word, [this](std::uint32_t k) { return m_text + k; }, add);
    group::sync_lanes();  // all lanes have written
    return taken.count;
  }
};

using funnel_program = resident::program<funnel>;

}  // namespace resident_bench
