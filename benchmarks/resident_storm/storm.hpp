// SPDX-License-Identifier: Apache-2.0
//
// Elements that send each other numbered messages of all kinds. A receiver keeps, by sender, the
// count of its messages and the sum of their contents.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace resident_storm {

namespace resident = starling::resident;
using resident::entry;

/// Kinds of messages. The kind depends on number and sender, so that all kinds are in flight.
inline constexpr std::uint32_t kinds = 8;
enum class kind : std::uint32_t { number, words, span };
[[nodiscard]] constexpr kind kind_of(std::uint32_t rest) noexcept {
  return rest == kinds - 1 ? kind::span : rest >= 5 ? kind::words : kind::number;
}
[[nodiscard]] constexpr kind kind_of(std::uint32_t from, std::uint32_t number) noexcept {
  return kind_of((number + from) % kinds);
}

inline constexpr std::uint32_t word_count = 10;  // with sender and number 88 bytes
inline constexpr std::uint32_t span_length = 40;
[[nodiscard]] constexpr std::uint32_t words_of(kind what) noexcept {
  return what == kind::span ? span_length : what == kind::words ? word_count : 0;
}

/// Word j of a message is number · word_step + pair_base + j, modulo 2⁶⁴ like all sums here.
inline constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15;
[[nodiscard]] constexpr std::uint64_t pair_base(std::uint32_t from, std::uint32_t to) noexcept {
  return from * std::uint64_t{0xc2b2ae3d27d4eb4f} + to * std::uint64_t{0x165667b19e3779f9};
}
/// Weights of a message in the sum: of its number `number_weight`, of each word `word_weight`, so
/// that exchanged words are noticed.
inline constexpr std::uint64_t number_weight = 0xd6e8feb86659fd93;
[[nodiscard]] constexpr std::uint64_t word_weight(std::uint32_t j) noexcept { return 2 * j + 1; }
/// Weight of a sender in a verdict, so that errors of two senders do not cancel each other.
[[nodiscard]] constexpr std::uint64_t sender_weight(std::uint32_t from) noexcept {
  return (from + 1) * std::uint64_t{0xff51afd7ed558ccd};
}

struct tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
};

/// The messages that an element has received, over all senders: plain, and with `sender_weight`.
struct verdict {
  std::uint32_t receiver = 0;
  tally all;
  tally weighted;

  constexpr void add(std::uint32_t from, const tally& of_sender) noexcept {
    all.count += of_sender.count;
    all.sum += of_sender.sum;
    weighted.count += sender_weight(from) * of_sender.count;
    weighted.sum += sender_weight(from) * of_sender.sum;
  }
};

/// A fault in the middle of the messages of element 0, to test that it is found.
enum class fault : std::uint32_t { none, lost, twice, damaged };

struct ten_words {
  std::uint64_t word[word_count];
};

template <class Cx>
struct stormer : resident::chare {
  static constexpr std::uint32_t at_once = 32;

  resident::host_mailbox<verdict> m_end;
  std::uint32_t m_each = 0;  // messages to each other element
  fault m_fault = fault::none;
  std::uint32_t m_ended = 0;  // senders whose messages have all arrived
  tally* m_of_sender = nullptr;
  std::uint64_t* m_data = nullptr;
  ten_words m_words = {};
  verdict m_verdict = {};

  // --- called once
  constexpr void meet(Cx& cx, resident::host_mailbox<verdict> end) {
    const auto senders = cx.template allocate<tally>(cx.array_of(*this).size());
    const auto data = cx.template allocate<std::uint64_t>(span_length);
    cx.once([&] {
      m_end = end;
      m_of_sender = senders.data();
      m_data = data.data();
    });
  }

  // --- a storm
  constexpr void begin(Cx& cx, std::uint32_t each, fault planted) {
    cx.for_each(cx.array_of(*this).size(), [&](std::uint32_t i) { m_of_sender[i] = {}; });
    cx.once([&] {
      m_each = each;
      m_fault = index() == 0 ? planted : fault::none;
      m_ended = 0;
    });
  }
  /// Sends the messages from place `at` on: number 0 to all other elements, then number 1 …
  constexpr void send_from(Cx& cx, std::uint64_t at) {
    const auto all = cx.array_of(*this);
    const std::uint32_t others = all.size() - 1;
    const std::uint64_t end = std::uint64_t(m_each) * others;
    auto number = static_cast<std::uint32_t>(at / others);
    auto which = static_cast<std::uint32_t>(at % others);
    for (std::uint32_t i = 0; i < at_once && at < end; ++i, ++at) {
      const std::uint32_t to = (index() + 1 + which) % all.size();
      const fault here = at == end / 2 ? m_fault : fault::none;
      if (here != fault::lost) send(cx, to, number, here == fault::damaged ? 1 : 0);
      if (here == fault::twice) send(cx, to, number, 0);
      if (++which == others) {
        which = 0;
        ++number;
      }
    }
    if (at < end) return cx.invoke(all[index()], entry<&stormer::send_from>, at);
    cx.invoke(all[index()], entry<&stormer::send_last>, 0u);
  }
  /// Sends the end marks. Messages between two elements arrive in order, so these arrive last.
  constexpr void send_last(Cx& cx, std::uint32_t which) {
    const auto all = cx.array_of(*this);
    const std::uint32_t others = all.size() - 1;
    for (std::uint32_t i = 0; i < at_once && which < others; ++i, ++which)
      cx.invoke(all[(index() + 1 + which) % all.size()], entry<&stormer::take_last>);
    if (which < others) cx.invoke(all[index()], entry<&stormer::send_last>, which);
  }

  constexpr void take_number(Cx& cx, std::uint32_t from, std::uint32_t number) {
    take(cx, from, number, 0);
  }
  constexpr void take_words(Cx& cx, std::uint32_t from, std::uint32_t number, ten_words all) {
    std::uint64_t sum = 0;
    for (std::uint32_t j = 0; j < word_count; ++j) sum += word_weight(j) * all.word[j];
    take(cx, from, number, sum);
  }
  constexpr void take_span(Cx& cx, std::uint32_t from, std::uint32_t number,
                           std::span<const std::uint64_t> data) {
    std::uint64_t mine = 0;
    cx.for_each(std::uint32_t(data.size()),
                [&](std::uint32_t j) { mine += word_weight(j) * data[j]; });
    const std::uint64_t sum =
        cx.reduce(mine, [](std::uint64_t x, std::uint64_t y) { return x + y; });
    take(cx, from, number, sum);
  }
  constexpr void take_last(Cx& cx) {
    const std::uint32_t n = cx.array_of(*this).size();
    cx.once([&] { ++m_ended; });
    if (m_ended != n - 1) return;
    cx.once([&] {
      m_verdict = {index(), {}, {}};
      for (std::uint32_t from = 0; from < n; ++from) m_verdict.add(from, m_of_sender[from]);
    });
    cx.send(m_end, m_verdict);
  }

  struct entries : resident::entries<&stormer::take_number, &stormer::take_words,
                                     &stormer::take_span, &stormer::take_last, &stormer::send_from,
                                     &stormer::send_last, &stormer::meet, &stormer::begin> {};

 private:
  constexpr void take(Cx& cx, std::uint32_t from, std::uint32_t number, std::uint64_t sum) {
    const bool is_known = from < cx.array_of(*this).size();
    if (!is_known) return cx.fail(from);
    cx.once([&] {
      ++m_of_sender[from].count;
      m_of_sender[from].sum += number_weight * number + sum;
    });
  }
  /// Sends a message; `flaw` is added to its contents.
  constexpr void send(Cx& cx, std::uint32_t to, std::uint32_t number, std::uint32_t flaw) {
    const auto goal = cx.array_of(*this)[to];
    const std::uint64_t first = number * word_step + pair_base(index(), to) + flaw;
    switch (kind_of(index(), number)) {
      case kind::number:
        return cx.invoke(goal, entry<&stormer::take_number>, index(), number + flaw);
      case kind::words:
        cx.sync();  // all threads have sent the old contents
        cx.once([&] {
          for (std::uint32_t j = 0; j < word_count; ++j) m_words.word[j] = first + j;
        });
        return cx.invoke(goal, entry<&stormer::take_words>, index(), number, m_words);
      case kind::span:
        cx.sync();
        cx.for_each(span_length, [&](std::uint32_t j) { m_data[j] = first + j; });
        cx.sync();
        return cx.invoke(goal, entry<&stormer::take_span>, index(), number,
                         std::span<const std::uint64_t>(m_data, span_length));
    }
  }
};

using program = resident::program<stormer>;

// --- expected values, by formula

[[nodiscard]] constexpr std::uint64_t sum_below(std::uint64_t n) noexcept {
  return n * (n - 1) / 2;
}
/// Returns Σ j² for j < n.
[[nodiscard]] constexpr std::uint64_t squares_below(std::uint64_t n) noexcept {
  return n == 0 ? 0 : (n - 1) * n * (2 * n - 1) / 6;
}

/// Returns the tally of `each` messages from one element to another element.
[[nodiscard]] constexpr tally expected(std::uint32_t from, std::uint32_t to, std::uint64_t each) {
  tally result{each, 0};
  for (std::uint32_t rest = 0; rest < kinds; ++rest) {
    // Numbers rest, rest + kinds … below `each`.
    const std::uint64_t count = rest < each ? (each - rest + kinds - 1) / kinds : 0;
    const std::uint64_t numbers = count == 0 ? 0 : count * rest + kinds * sum_below(count);
    const std::uint64_t n = words_of(kind_of(from, rest));
    // Σ (2j + 1) = n²; Σ (2j + 1) j = 2 Σ j² + Σ j.
    const std::uint64_t of_words = n * n * (word_step * numbers + pair_base(from, to) * count) +
                                   (n == 0 ? 0 : count * (2 * squares_below(n) + sum_below(n)));
    result.sum += number_weight * numbers + of_words;
  }
  return result;
}

[[nodiscard]] constexpr verdict expected_of(std::uint32_t receiver, std::uint32_t elements,
                                            std::uint64_t each) {
  verdict result{receiver, {}, {}};
  for (std::uint32_t from = 0; from < elements; ++from)
    if (from != receiver) result.add(from, expected(from, receiver, each));
  return result;
}

}  // namespace resident_storm
