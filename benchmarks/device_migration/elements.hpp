// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "../common/advance.hpp"

namespace device_migration {

using starling::callback, starling::runtime, starling::task;
using starling::bench::advance, starling::bench::advanced;

inline starling::device& here() { return starling::devices(*runtime::current()).here(); }

/// Numbers on the device of the element's worker, all of which are equal.
class numbers {
 public:
  numbers() = default;
  numbers(std::size_t count, std::uint64_t value)
      : m_numbers(
            m_at.device().allocate<std::uint64_t>(starling::memory_kind::device, count, m_at)) {
    m_at.fill(m_numbers, value);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
    if constexpr (Archive::is_reading) m_numbers.release_on(m_at);
  }
  /// Moves them to the device of this worker. Returns at once.
  void follow() {
    if (&m_at.device() == &here()) return;
    starling::stream at = here().make_stream();
    move_buffer(m_numbers, m_at, at);
    m_at = std::move(at);
  }
  void fill(std::uint64_t value) { m_at.fill(m_numbers, value); }
  std::optional<starling::memory_name> exported() {
    return m_at.device().export_memory(m_numbers.data());
  }
  void submit(int rounds) {
    m_at.submit(starling::range{std::int64_t(m_numbers.size())}, advance{m_numbers.data(), rounds});
  }
  auto completion() { return m_at.completion(); }
  /// Returns how many of them are equal to `value`.
  task<std::uint64_t> count(std::uint64_t value) {
    std::vector<std::uint64_t> found(m_numbers.size());
    m_at.copy(found, std::as_const(m_numbers).span());
    co_await m_at.completion();
    co_return std::uint64_t(std::ranges::count(found, value));
  }

 private:
  starling::stream m_at = here().make_stream();
  starling::buffer<std::uint64_t> m_numbers;
};

/// Migrates between two workers, back and forth, with device memory of a given size.
struct traveller : starling::chare<traveller> {
  explicit traveller(std::size_t count) : m_numbers(count, 0) {}
  explicit traveller(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers, m_migrations, m_other, m_advances, m_end);
  }

  /// `advances`: a kernel changes the numbers after each migration.
  task<> begin(int migrations, std::uint64_t other, std::uint64_t value, bool advances,
               callback<std::uint64_t> end) {
    m_migrations = migrations;
    m_other = other;
    m_advances = advances;
    m_end = std::move(end);
    m_numbers.fill(value);
    co_await m_numbers.completion();
    this_element().template invoke<&traveller::travel>();
  }
  task<> travel() {
    co_await m_numbers.completion();
    while (m_migrations > 0) {
      --m_migrations;
      const std::size_t to = std::exchange(m_other, this_worker());
      migrate_to(to);
      co_await migration_point();
      co_await m_numbers.completion();
    }
    m_end.deliver(this_worker());
  }
  task<> resumed() { return travel(); }
  void after_migration() {
    m_numbers.follow();
    if (m_advances) m_numbers.submit(1);
  }
  task<std::uint64_t> right(std::uint64_t value) { return m_numbers.count(value); }

 private:
  numbers m_numbers;
  int m_migrations = 0;
  std::uint64_t m_other = 0;
  bool m_advances = false;
  callback<std::uint64_t> m_end;
};

/// Memory of the last worker's device, from which the first device copies.
struct far_memory : starling::chare<far_memory> {
  explicit far_memory(std::size_t count) : m_numbers(count, 0) {}
  std::optional<starling::memory_name> name() { return m_numbers.exported(); }
  task<> fill(std::uint64_t value) {
    m_numbers.fill(value);
    co_await m_numbers.completion();
  }

 private:
  numbers m_numbers;
};
struct on_worker {
  std::uint64_t number;
  std::size_t operator()(int, std::uint64_t) const { return number; }
};

/// Tells where a worker's work on devices runs.
struct seat : starling::chare<seat> {
  std::string device() {
    const starling::device& d = here();
    const std::string& bus = d.properties().bus_id;
    return bus.empty() ? fmt::format("{}:{}", starling::this_rank().number, d.id().value) : bus;
  }
};

/// What the elements of a balancing question do.
struct work {
  int steps = 0;
  int rounds = 0;  // of a light element in one step
  std::uint64_t count = 0;
  bool balances = false;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(steps, rounds, count, balances);
  }
};

constexpr int elements = 64, heavy_elements = elements / 4, heavy = 8;

/// Launches one kernel in each step. The first quarter of the elements has kernels that are `heavy`
/// times as long, which only the device shows.
struct worker : starling::chare<worker> {
  explicit worker(work asked) : m_asked(asked), m_numbers(asked.count, 0) {}
  explicit worker(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_asked, m_step, m_migrations, m_numbers, m_end);
  }

  /// `end` receives the migrations of all elements.
  void begin(callback<std::uint64_t> end) {
    m_end = std::move(end);
    this_element().template invoke<&worker::run>();
  }
  task<> run() {
    while (m_step < m_asked.steps) {
      m_numbers.submit(rounds());
      co_await m_numbers.completion();
      ++m_step;
      if (m_asked.balances)
        co_await load_balance();
      else
        co_await barrier();
    }
    contribute(m_migrations, starling::reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }
  void after_migration() {
    ++m_migrations;
    m_numbers.follow();
  }
  task<std::uint64_t> right() {
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < std::int64_t(rounds()) * m_asked.steps; ++i)
      expected = advanced(expected);
    return m_numbers.count(expected);
  }

 private:
  [[nodiscard]] int rounds() const {
    return this_index() < heavy_elements ? m_asked.rounds * heavy : m_asked.rounds;
  }
  work m_asked;
  int m_step = 0;
  std::uint64_t m_migrations = 0;
  numbers m_numbers;
  callback<std::uint64_t> m_end;
};

}  // namespace device_migration
