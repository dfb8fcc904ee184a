// SPDX-License-Identifier: Apache-2.0
// Two bound arrays whose elements check at each message that they are together.
#pragma once

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "on_ranks.hpp"

namespace starling_test {

inline constexpr int senders = 6;
inline constexpr int pairs = 5;

/// The messages of each sender.
struct journal {
  std::vector<std::vector<int>> of{senders};

  void note(int from, int n) { of.at(std::size_t(from)).push_back(n); }
  /// Whether they are those from 0 to n − 1, in order.
  [[nodiscard]] bool has_all_in_order(int n) const {
    return std::ranges::all_of(of, [n](const std::vector<int>& heard) {
      for (int i = 0; i < n; ++i)
        if (i >= int(heard.size()) || heard[std::size_t(i)] != i) return false;
      return int(heard.size()) == n;
    });
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(of);
  }
};

/// Lets a coroutine wait until it is opened.
struct gate : starling::chare<gate> {
  starling::awaited open();
  starling::task<> pass() { co_await when<&gate::open>(); }
};

struct horse;
/// The other array; a class of its own, as `horse` is not complete yet.
struct reins {
  std::vector<starling::chare_array<horse>> all;
};

/// A leader: migrates after every few messages.
struct cart : starling::chare<cart> {
  explicit cart(int every, int workers);
  explicit cart(starling::migrated);
  template <class Archive>
  void serialize(Archive& ar);

  void meet(const starling::chare_array<horse>& others);
  void take(int from, int n) {
    step();
    m_journal.note(from, n);
  }
  starling::task<> begun(int from, int n) {
    take(from, n);
    co_await starling::yield();
    check();
  }
  starling::awaited letter(int n);
  starling::task<int> read(int letters) {
    int sum = 0;
    for (int i = 0; i < letters; ++i) {
      sum += co_await when<&cart::letter>();
      check();
    }
    co_return sum;
  }
  void give(int rounds, const starling::callback<int>& to) {
    for (int i = 0; i < rounds; ++i) {
      step();
      contribute(1, starling::reduction::sum(), to);
    }
  }
  starling::task<> balance_now() { co_await load_balance(); }
  starling::task<> resumed() { co_return; }
  double load() const { return 1; }
  void go(int to) { migrate_to(std::size_t(to)); }
  void before_migration() { check(); }
  void after_migration() {
    check();
    ++m_migrations;
  }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  int failures() const { return m_failures; }
  bool has_all_in_order(int n) const { return m_journal.has_all_in_order(n); }

 private:
  void step() {
    check();
    if (m_every == 0 || ++m_steps % m_every != 0) return;
    m_next = m_next * 1103515245 + 12345 + std::uint32_t(this_index());
    migrate_to((m_next >> 8) % std::size_t(m_workers));
  }
  void check();

  int m_every = 0;
  int m_workers = 1;
  int m_steps = 0;
  std::uint32_t m_next = 1;
  int m_migrations = 0;
  int m_failures = 0;
  journal m_journal;
  std::shared_ptr<reins> m_other;
};

/// A follower.
struct horse : starling::chare<horse> {
  horse() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_passes, m_migrations, m_failures, m_journal, m_other);
  }

  void meet(const starling::chare_array<cart>& others) { m_other = {others}; }
  void take(int from, int n) {
    check();
    m_journal.note(from, n);
  }
  starling::task<> begun(int from, int n) {
    take(from, n);
    co_await starling::yield();
    check();
  }
  starling::awaited letter(int n);
  starling::task<int> read(int letters) {
    int sum = 0;
    for (int i = 0; i < letters; ++i) {
      sum += co_await when<&horse::letter>();
      check();
    }
    co_return sum;
  }
  void give(int rounds, const starling::callback<int>& to) {
    for (int i = 0; i < rounds; ++i) {
      check();
      contribute(1, starling::reduction::sum(), to);
    }
  }
  starling::task<> wait_at(starling::element<gate> g) { co_await g.call<&gate::pass>(); }
  starling::task<> at_point() { co_await migration_point(); }
  /// Waits for a letter, which binds the element to its rank, and then lets it migrate.
  starling::task<> read_and_pass() {
    co_await when<&horse::letter>();
    co_await migration_point();
    ++m_passes;
  }
  starling::task<> resumed() {  // on another rank
    ++m_passes;
    co_return;
  }
  int passes() const { return m_passes; }
  starling::task<> balance_now() { co_await load_balance(); }
  double load() const { return 2; }
  void go(int to) { migrate_to(std::size_t(to)); }
  void before_migration() { check(); }
  void after_migration() {
    check();
    ++m_migrations;
  }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  int failures() const { return m_failures; }
  bool has_leader() { return m_other.at(0)[this_index()].local() != nullptr; }
  bool has_all_in_order(int n) const { return m_journal.has_all_in_order(n); }

 private:
  void check() {
    if (m_other.empty()) return;
    cart* const leader = m_other[0][this_index()].local();
    m_failures += leader == nullptr || leader->place() != place() ? 1 : 0;
  }
  int m_passes = 0;
  int m_migrations = 0;
  int m_failures = 0;
  journal m_journal;
  std::vector<starling::chare_array<cart>> m_other;
};

inline cart::cart(int every, int workers)
    : m_every(every), m_workers(workers), m_other(std::make_shared<reins>()) {}
inline cart::cart(starling::migrated) : m_other(std::make_shared<reins>()) {}
template <class Archive>
void cart::serialize(Archive& ar) {
  ar(m_every, m_workers, m_steps, m_next, m_migrations, m_failures, m_journal, m_other->all);
}
inline void cart::meet(const starling::chare_array<horse>& others) { m_other->all = {others}; }
inline void cart::check() {
  if (m_other->all.empty()) return;
  horse* const follower = m_other->all[0][this_index()].local();
  m_failures += follower == nullptr || follower->place() != place() ? 1 : 0;
}

using teams = starling::bound_arrays<cart, horse>;

inline teams make_teams(starling::runtime& rt,
                        starling::placement how = starling::placement::round_robin, int every = 0) {
  const auto made = starling::create_bound_arrays<cart, horse>(
      rt, pairs, how, std::tuple(every, int(starling::total_worker_count(rt))));
  made.leaders.invoke<&cart::meet>(made.followers);
  made.followers.invoke<&horse::meet>(made.leaders);
  return made;
}

/// Checks that each pair is on one worker and has never been apart; returns all migrations.
inline starling::task<int> check_pairs(starling::chare_array<cart> carts,
                                       starling::chare_array<horse> horses) {
  int migrations = 0;
  for (int i = 0; i < pairs; ++i) {
    EXPECT_EQ(co_await carts[i].call<&cart::failures>(), 0) << i;
    EXPECT_EQ(co_await horses[i].call<&horse::failures>(), 0) << i;
    const int mine = co_await carts[i].call<&cart::migrations>();
    migrations += mine;
  }
  co_return migrations;
}

}  // namespace starling_test
