// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>
#include <sched.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "players.hpp"

/// The questions, each with a size and a known answer; see `measure` in ../common/harness.hpp.
namespace messages {

using starling::chare_array;
using starling::placement;
using starling::runtime;

/// A problem whose answer is one number.
class number_problem {
 public:
  number_problem(std::int64_t items, std::int64_t answer) : m_items(items), m_answer(answer) {}
  [[nodiscard]] std::uint64_t items() const { return std::uint64_t(m_items); }
  void prepare() const {}
  [[nodiscard]] bool correct(std::int64_t found) const { return found == m_answer; }
  static void spoil(std::int64_t& found) { found ^= 1; }

 private:
  std::int64_t m_items;
  std::int64_t m_answer;
};

/// Two players, on worker 0 and worker `other`.
class pair {
 public:
  pair(runtime& rt, std::size_t other)
      : m_runtime(&rt), m_players(starling::create_array<player>(
                            rt, 2, [other](int i, std::uint64_t) { return i == 0 ? 0 : other; })) {}

  [[nodiscard]] runtime& rt() const { return *m_runtime; }
  [[nodiscard]] element<player> first() const { return m_players[0]; }
  [[nodiscard]] element<player> second() const { return m_players[1]; }
  void measure_loads(bool on) const { m_players.measure_loads(on); }

  /// Prepares both players for a game of `count` messages.
  void prepare(std::int64_t count, std::size_t bytes, const callback<std::int64_t>& over) const {
    m_runtime->sync_wait(
        first().call<&player::prepare>(player::rules{second(), 2, count, bytes, over}));
    m_runtime->sync_wait(second().call<&player::prepare>(player::rules{first(), 1, 0, bytes, {}}));
  }

 private:
  runtime* m_runtime;
  chare_array<player> m_players;
};

/// Problem: `count` messages, an even number, to and fro. An item is a message or a round trip.
class game {
 public:
  enum class item { message, round_trip };

  game(runtime& rt, std::size_t other, std::int64_t count, item counted, std::size_t bytes = 1)
      : m_pair(rt, other), m_count(count), m_item(counted), m_bytes(bytes) {}

  [[nodiscard]] std::uint64_t items() const {
    return std::uint64_t(m_item == item::message ? m_count : m_count / 2);
  }
  void prepare() {
    auto [over, told] = starling::make_reply<std::int64_t>();
    m_pair.prepare(m_count, m_bytes, over);
    m_told = std::move(told);
    m_payload = payload(m_bytes, filling);
    stamp(m_payload, 1);
  }
  /// Begins or ends the measurement of the players' loads.
  void measure_loads(bool on) const {
    m_pair.measure_loads(on);
    m_pair.rt().wait_idle();
  }
  /// Plays the game; `serve` sends the first message.
  template <class Serve>
  std::int64_t play(Serve serve) {
    serve(m_pair.second());
    return m_pair.rt().sync_wait(std::move(m_told));
  }
  /// Returns the payload of the first message.
  [[nodiscard]] payload& first() { return m_payload; }

  /// Checks that both players received all messages as expected, and an intact payload.
  [[nodiscard]] bool correct(std::int64_t found) const {
    const std::int64_t of_second = m_pair.rt().sync_wait(m_pair.second().call<&player::caught>());
    const bool intact = m_pair.rt().sync_wait(m_pair.first().call<&player::is_intact>());
    return found + of_second == m_count && intact;
  }
  static void spoil(std::int64_t& found) { found ^= 1; }

 private:
  pair m_pair;
  std::int64_t m_count;
  item m_item;
  std::size_t m_bytes;
  payload m_payload;
  starling::future<std::int64_t> m_told;
};

/// Problem in which the first player sends messages to the second player on the same worker.
class errand : public number_problem {
 public:
  errand(runtime& rt, std::int64_t items, std::int64_t answer)
      : number_problem(items, answer), m_pair(rt, 0) {}
  void prepare() const { m_pair.prepare(2, 1, {}); }
  [[nodiscard]] const pair& players() const { return m_pair; }

 private:
  pair m_pair;
};

/// Problem: pages that are sent in order or in reverse order.
class reading : public number_problem {
 public:
  reading(runtime& rt, int books, int pages, bool backwards)
      : number_problem(std::int64_t(books) * pages, books * sum_of(pages)), m_runtime(&rt),
        m_writers(starling::create_array<writer>(rt, 1, placement::block)),
        m_readers(starling::create_array<reader>(rt, 1, placement::block)), m_books(books),
        m_pages(pages), m_backwards(backwards) {}

  std::int64_t solve() {
    return m_runtime->sync_wait(
        m_writers[0].call<&writer::write>(m_readers[0], m_books, m_pages, m_backwards));
  }

 private:
  static std::int64_t sum_of(int pages) {
    std::int64_t sum = 0;
    for (int i = 0; i < pages; ++i) sum += std::int64_t(i) * writer::content(i);
    return sum;
  }

  runtime* m_runtime;
  chare_array<writer> m_writers;
  chare_array<reader> m_readers;
  int m_books, m_pages;
  bool m_backwards;
};

/// Problem: a broadcast that all elements answer in a reduction, `rounds` times. An item is one
/// element's part of a round.
class vote : public number_problem {
 public:
  vote(runtime& rt, int chares, int rounds)
      : number_problem(std::int64_t(chares) * rounds, std::int64_t(chares) * rounds),
        m_runtime(&rt), m_array(starling::create_array<blank>(rt, chares, placement::block)),
        m_rounds(rounds) {}

  std::int64_t solve() { return m_runtime->sync_wait(count(m_array, m_rounds)); }
  static task<std::int64_t> count(chare_array<blank> array, int rounds) {
    std::int64_t sum = 0;
    for (int i = 0; i < rounds; ++i) {
      auto [to, told] = starling::make_reply<std::int64_t>();
      array.invoke<&blank::count>(to);
      sum += co_await std::move(told);
    }
    co_return sum;
  }

 private:
  runtime* m_runtime;
  chare_array<blank> m_array;
  int m_rounds;
};

/// Problem: creation of elements that do nothing, in a runtime of their own, as an array lasts as
/// long as its runtime. The check counts the elements.
class birth {
 public:
  birth(int workers, int chares) : m_workers(unsigned(workers)), m_chares(chares) {}

  [[nodiscard]] std::uint64_t items() const { return std::uint64_t(m_chares); }
  void prepare() {
    m_runtime.reset();
    starling::runtime_options options = starling::runtime_options::from_environment();
    options.workers = m_workers;
    m_runtime.emplace(options);
    m_before = bytes_in_use();
  }
  /// Creates all elements by one call.
  chare_array<blank> create() {
    chare_array<blank> made = starling::create_array<blank>(*m_runtime, m_chares, placement::block);
    m_runtime->wait_idle();
    return made;
  }
  /// Inserts the elements one by one.
  chare_array<blank> insert() {
    chare_array<blank> made =
        starling::create_empty_array<blank>(*m_runtime, m_chares, placement::block);
    m_runtime->sync_wait(insert_all(made, m_chares));
    m_runtime->wait_idle();
    return made;
  }
  [[nodiscard]] bool correct(chare_array<blank> made) {
    m_bytes = double(bytes_in_use() - m_before) / m_chares;
    return !m_spoilt && m_runtime->sync_wait(vote::count(made, 1)) == m_chares;
  }
  void spoil(chare_array<blank>&) { m_spoilt = true; }

  /// Returns the memory per element of the last array, including its table entries and the
  /// allocator's overhead.
  [[nodiscard]] double bytes_per_element() const { return m_bytes; }

 private:
  static task<> insert_all(chare_array<blank> array, int count) {
    for (int i = 0; i < count; ++i) array.insert(i);
    array.done_inserting();
    co_return;
  }
  static std::int64_t bytes_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return std::int64_t(info.uordblks) + std::int64_t(info.hblkhd);
  }

  unsigned m_workers;
  int m_chares;
  bool m_spoilt = false;
  std::optional<runtime> m_runtime;
  std::int64_t m_before = 0;
  double m_bytes = 0;
};

/// Problem that measures the machine: two threads pass a number to each other through memory, each
/// number in a cache line of its own, on the cores of the first two workers.
class relay : public number_problem {
 public:
  explicit relay(std::int64_t trips) : number_problem(trips, trips), m_trips(trips) {}

  std::int64_t solve() const {
    line there, back;
    std::thread other([&] {
      bind_to(1);
      for (std::int64_t i = 1; i <= m_trips; ++i) {
        there.wait_for(i);
        back.number.store(i, std::memory_order_release);
      }
    });
    std::thread one([&] {
      bind_to(0);
      for (std::int64_t i = 1; i <= m_trips; ++i) {
        there.number.store(i, std::memory_order_release);
        back.wait_for(i);
      }
    });
    one.join();
    other.join();
    return back.number.load();
  }

 private:
  struct alignas(64) line {
    std::atomic<std::int64_t> number{0};

    // Acquire pairs with the release stores: data written before a number are visible with it.
    void wait_for(std::int64_t n) const {
      for (unsigned spins = 1; number.load(std::memory_order_acquire) != n; ++spins)
        if (spins % 4096 == 0) std::this_thread::yield();
    }
  };
  /// Binds the calling thread to `core`; leaves it unbound if there is no such core.
  static void bind_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    static_cast<void>(sched_setaffinity(0, sizeof set, &set));
  }

  std::int64_t m_trips;
};

}  // namespace messages
