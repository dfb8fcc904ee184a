// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace messages {

using starling::callback;
using starling::chare;
using starling::element;
using starling::task;

/// A block of bytes whose first and last byte identify the message of a game that carries it.
using payload = std::vector<char>;
inline constexpr char filling = 0x5a;

inline void stamp(payload& p, std::int64_t message) {
  p.front() = p.back() = static_cast<char>(message % 127);
}
[[nodiscard]] inline bool is_stamped(const payload& p, std::size_t size, std::int64_t message) {
  return p.size() == size && p.front() == message % 127 && p.back() == message % 127;
}

/// Two players throw a ball to and fro. The messages of a game are numbered from 1, which the
/// second player receives; the first player ends the game.
class player : public chare<player> {
 public:
  static constexpr bool one_rank = true;  // its rules cannot be packed
  struct rules {
    element<player> peer;
    std::int64_t first;           // number of the first message that this player receives
    std::int64_t last;            // of the game; 0 for the player that does not end it
    std::size_t bytes;            // of a payload
    callback<std::int64_t> over;  // gets the number of right messages of the ending player
  };
  void prepare(const rules& given) {
    m_rules.emplace(given);
    m_next = given.first;
    m_answers = 0;
    m_caught = 0;
    m_own = payload(given.bytes, filling);
  }

  void ball() {
    ++m_caught;
    if (goes_on()) m_rules->peer.invoke<&player::ball>();
  }
  void number(int n) {
    m_caught += n == m_next;
    if (goes_on()) m_rules->peer.invoke<&player::number>(n + 1);
  }
  /// Passes the received payload on.
  void moved(payload p) {
    m_caught += is_stamped(p, m_rules->bytes, m_next);
    stamp(p, m_next + 1);
    if (goes_on())
      m_rules->peer.invoke<&player::moved>(std::move(p));
    else
      m_own = std::move(p);
  }
  /// Sends a copy of its own payload and drops the received payload.
  void copied(const payload& p) {
    m_caught += is_stamped(p, m_rules->bytes, m_next);
    stamp(m_own, m_next + 1);
    if (goes_on()) m_rules->peer.invoke<&player::copied>(m_own);
  }

  [[nodiscard]] std::int64_t caught() const { return m_caught; }
  /// Returns whether all bytes between the stamps are unchanged.
  [[nodiscard]] bool is_intact() const {
    return m_own.size() < 3 ||
           std::all_of(m_own.begin() + 1, m_own.end() - 1, [](char c) { return c == filling; });
  }

  /// Calls its peer `calls` times in sequence. Returns the sum of the answers 1, 2, …
  task<std::int64_t> ask(int calls) {
    std::int64_t sum = 0;
    for (int i = 0; i < calls; ++i) sum += co_await m_rules->peer.call<&player::answer>();
    co_return sum;
  }
  int answer() { return ++m_answers; }

  /// Sends its peer `batches` times `batch` messages, each batch before the peer can run. Returns
  /// how many messages the peer received.
  task<std::int64_t> shower(int batches, int batch) {
    for (int b = 0; b < batches; ++b) {
      for (int i = 0; i < batch; ++i) m_rules->peer.invoke<&player::drop>();
      co_await starling::yield();
    }
    co_return co_await m_rules->peer.call<&player::caught>();
  }
  void drop() { ++m_caught; }

 private:
  bool goes_on() {
    m_next += 2;
    if (m_next <= m_rules->last || m_rules->last == 0) return true;
    m_rules->over.deliver(std::int64_t(m_caught));
    return false;
  }

  std::optional<rules> m_rules;
  std::int64_t m_next = 0;
  std::int64_t m_caught = 0;
  int m_answers = 0;
  payload m_own;
};

/// A chare that awaits messages by their numbers.
class reader : public chare<reader> {
 public:
  starling::awaited page(int number, int content);

  /// Awaits the pages 0 … pages − 1 of a book in this order, in whatever order they arrive. Returns
  /// the sum of number times content.
  task<std::int64_t> read(int pages) {
    std::int64_t sum = 0;
    for (int i = 0; i < pages; ++i) sum += std::int64_t(i) * co_await when<&reader::page>(i);
    co_return sum;
  }
};

/// A chare that sends the pages of books to a reader.
class writer : public chare<writer> {
 public:
  task<std::int64_t> write(element<reader> to, int books, int pages, bool backwards) {
    std::int64_t sum = 0;
    for (int b = 0; b < books; ++b) {
      starling::future<std::int64_t> read = to.call<&reader::read>(pages);
      for (int i = 0; i < pages; ++i) {
        const int number = backwards ? pages - 1 - i : i;
        to.invoke<&reader::page>(number, content(number));
      }
      sum += co_await std::move(read);
    }
    co_return sum;
  }
  [[nodiscard]] static constexpr int content(int number) { return 3 * number + 1; }
};

/// An element without data members.
class blank : public chare<blank> {
 public:
  void count(const callback<std::int64_t>& to) {
    contribute(std::int64_t(1), starling::reduction::sum{}, to);
  }
};

}  // namespace messages
