// SPDX-License-Identifier: Apache-2.0
// Elements that migrate all the time, within and between ranks, while they send messages, while
// they are destroyed and while the run ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"
#include "uneven_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::counted;
using starling_test::in_process;
using starling_test::many;
using starling_test::uneven_ranks;

class migration_storm : public testing::TestWithParam<uneven_ranks> {
 protected:
  const uneven_ranks all = GetParam();
};
INSTANTIATE_TEST_SUITE_P(on, migration_storm,
                         testing::Values(uneven_ranks{{1}}, uneven_ranks{{2}}, uneven_ranks{{4}},
                                         uneven_ranks{{2, 2}}, uneven_ranks{{3, 1}}),
                         starling_test::uneven_name);

/// A coroutine that waits in `when` or `reduce` keeps its element on its rank.
class migration_storm_of_one_rank : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, migration_storm_of_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

std::size_t worker_at(int n) { return std::size_t(n) % total_worker_count(*runtime::current()); }

// --- calls and destructions

constexpr int callers = 5;
constexpr int targets = 6;

/// The messages that each target has processed, by sender.
struct processed {
  std::array<std::array<std::atomic<int>, targets>, callers> of{};
  std::atomic<int> arrivals{0};  // of targets on another rank
};

/// Migrates after every few messages.
struct target : chare<target> {
  explicit target(in_process<processed> p) : m_processed(p) {}
  explicit target(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_processed, m_rank);
  }
  void before_migration() { m_rank = this_rank().number; }
  void after_migration() { m_processed.it->arrivals += this_rank().number != m_rank; }

  int take(int from, int n) {
    auto& mine = m_processed.it->of[std::size_t(from)][std::size_t(this_index())];
    EXPECT_EQ(mine.fetch_add(1), n) << "target " << this_index() << ", sender " << from;
    if (n % 3 == 0) migrate_to(worker_at(this_index() + n / 3));
    return n;
  }
  /// Keeps the element on its rank while it waits, so only for one rank.
  task<int> take_slowly(int from, int n) {
    const int taken = take(from, n);  // coroutines begin in the order of their messages
    co_await yield();
    co_return taken;
  }

 private:
  in_process<processed> m_processed{};
  int m_rank = 0;
};

/// Calls all targets and destroys one of them in between.
struct caller : chare<caller> {
  /// `slowly`: some of the calls wait.
  task<std::string> call_all(chare_array<target> all, in_process<processed> p, int count,
                             bool slowly) {
    std::array<std::vector<future<int>>, targets> answers;
    for (int n = 0; n < count; ++n) {
      for (int t = 0; t < targets; ++t)
        answers[std::size_t(t)].push_back(slowly && (n + t) % 4 == 0
                                              ? all[t].call<&target::take_slowly>(this_index(), n)
                                              : all[t].call<&target::take>(this_index(), n));
      if (n == count * (this_index() + 1) / (callers + 2)) all[this_index()].destroy();
      if (n % 7 == this_index()) co_await yield();
    }
    std::string errors;
    for (int t = 0; t < targets; ++t) {
      const int answered = co_await count_answers(std::move(answers[std::size_t(t)]), errors);
      if (answered != p.it->of[std::size_t(this_index())][std::size_t(t)])
        errors +=
            "target " + std::to_string(t) + " has answered " + std::to_string(answered) + "; ";
    }
    co_return errors;
  }

 private:
  /// The answered calls are the first ones; later ones are refused.
  static task<int> count_answers(std::vector<future<int>> answers, std::string& errors) {
    int answered = 0;
    bool is_refused = false;
    for (int n = 0; n < int(answers.size()); ++n) try {
        if (co_await std::move(answers[std::size_t(n)]) != n || is_refused)
          errors += "a wrong answer to call " + std::to_string(n) + "; ";
        ++answered;
      } catch (const no_such_element&) {
        is_refused = true;
      }
    co_return answered;
  }
};

task<int> call_and_destroy(runtime& rt, int rounds, std::atomic<int>& arrivals) {
  for (int round = 0; round < rounds; ++round) {
    processed p;
    const auto all =
        create_array<target>(rt, targets, placement::round_robin, in_process<processed>{&p});
    const auto senders = create_array<caller>(rt, callers, placement::block);
    std::vector<future<std::string>> ends;
    for (int i = 0; i < callers; ++i)
      ends.push_back(senders[i].call<&caller::call_all>(all, in_process<processed>{&p}, 60,
                                                        rank_count() == 1));
    for (const std::string& errors : co_await when_all(std::move(ends))) EXPECT_EQ(errors, "");
    // Only the callers destroy, each one target.
    for (int from = 0; from < callers; ++from) EXPECT_EQ(p.of[std::size_t(from)][targets - 1], 60);
    co_await quiescence();  // no target arrives after the end of `p`
    arrivals += p.arrivals;
  }
  co_return 0;
}

TEST_P(migration_storm, answers_calls_before_a_destruction_and_refuses_later_ones) {
  std::atomic<int> arrivals{0};
  all.expect(0, [&](runtime& rt) { return call_and_destroy(rt, many(20, 3), arrivals); });
  EXPECT_EQ(arrivals > 0, all.has_several_ranks());
}

// --- senders and receivers that migrate

constexpr int roamers = 7;

/// Sends a message to all in each step, and migrates after it.
struct roamer : chare<roamer> {
  explicit roamer(int steps) : m_times(std::size_t(roamers * steps)), m_steps(steps) {}
  explicit roamer(migrated) { ++m_arrivals; }
  template <class Archive>
  void serialize(Archive& ar) {
    int arrivals = m_arrivals;
    ar(m_times, m_steps, arrivals);
    if constexpr (Archive::is_reading) m_arrivals += arrivals;
  }

  void roam(int step) {
    for (int to = 0; to < roamers; ++to)
      send_to(to, step)[to].template invoke<&roamer::take>(int(this_index()), step);
    if (step + 1 == m_steps) return;
    migrate_to(worker_at(this_index() + 1 + step * step));
    this_element().template invoke<&roamer::roam>(step + 1);
  }
  void take(int from, int step) { ++m_times.at(std::size_t(from * m_steps + step)); }
  /// Returns how often each message has come, by sender and step.
  std::vector<int> times() const { return m_times; }
  int arrivals() const { return m_arrivals; }

 private:
  /// Every third message is urgent.
  chare_array<roamer> send_to(int to, int step) {
    return (to + step) % 3 == 0 ? this_array().urgent() : this_array();
  }
  std::vector<int> m_times;
  int m_steps = 0;
  int m_arrivals = 0;
};

task<int> roam(runtime& rt, int rounds, int steps) {
  int arrivals = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto all = create_array<roamer>(rt, roamers, placement::round_robin, steps);
    all.invoke<&roamer::roam>(0);
    co_await quiescence();
    const std::vector<int> once(std::size_t(roamers * steps), 1);
    for (int i = 0; i < roamers; ++i) {
      EXPECT_EQ(co_await all[i].call<&roamer::times>(), once) << "element " << i;
      arrivals += co_await all[i].call<&roamer::arrivals>();
    }
  }
  co_return arrivals > 0 ? 1 : 0;
}

TEST_P(migration_storm, delivers_each_message_of_migrating_senders_once) {
  const int has_left_ranks = all.has_several_ranks() ? 1 : 0;
  all.expect(has_left_ranks, [](runtime& rt) { return roam(rt, many(10, 2), many(40, 20)); });
}

// --- coroutines

/// Migrates before each wait and checks where its coroutine resumes.
struct commuter : chare<commuter> {
  awaited letter(int round);
  task<> travel(int rounds) {
    for (int r = 0; r < rounds; ++r) {
      leave(2 * r);
      co_await barrier();  // the first departure happens here
      co_await stay_on_worker();
      leave(2 * r + 1);
      co_await when<&commuter::letter>(r);
      co_await stay_on_worker();
    }
  }
  int nothing() { return 0; }
  void after_migration() { ++m_migrations; }
  int migrations() const { return m_migrations; }

 private:
  void leave(int round) {
    const std::size_t workers = runtime::current()->worker_count();
    migrate_to(std::size_t(this_index() + 1 + round) % workers);
  }
  /// Resumes directly, then by the future of a call.
  task<> stay_on_worker() {
    EXPECT_EQ(runtime::worker_index(), int(this_worker()));
    co_await this_array()[(this_index() + 1) % 6].call<&commuter::nothing>();
    EXPECT_EQ(runtime::worker_index(), int(this_worker()));
  }
  int m_migrations = 0;
};

TEST_P(migration_storm_of_one_rank, resumes_coroutines_on_the_worker_of_their_element) {
  const auto made = create_array<commuter>(rt, 6, placement::round_robin);
  rt.sync_wait([](chare_array<commuter> all, bool can_migrate) -> task<> {
    constexpr int rounds = 8;
    all.invoke<&commuter::travel>(rounds);
    for (int r = 0; r < rounds; ++r) {
      co_await quiescence();  // all have departed and wait for the letter
      all.invoke<&commuter::letter>(r);
    }
    co_await quiescence();
    for (int i = 0; i < 6; ++i)
      EXPECT_GE(co_await all[i].call<&commuter::migrations>(), can_migrate ? rounds / 2 : 0);
  }(made, rt.worker_count() > 1));
}

// --- the end of the run

constexpr int bouncers = 7;

/// The numbers of the messages that are left in each chain of messages.
struct chains {
  std::array<std::atomic<int>, bouncers> left{};
  std::atomic<int> arrivals{0};  // of elements on another rank
};

/// Migrates at every message, and passes the message on, until the run ends.
struct bouncer : chare<bouncer> {
  bouncer(in_process<int> alive, in_process<chains> of) : m_chains(of), m_of(alive) { count(); }
  explicit bouncer(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_chains, m_of);
    if constexpr (Archive::is_reading) {
      ++m_chains.it->arrivals;
      count();
    }
  }

  void bounce(int chain, int n) {
    EXPECT_EQ(m_chains.it->left[std::size_t(chain)].exchange(n), n + 1) << "chain " << chain;
    migrate_to(worker_at(n + 1000));
    if (n == 0) exit_run(3);
    this_array()[(this_index() + 1 + (n & 1)) % bouncers].invoke<&bouncer::bounce>(chain, n - 1);
  }
  awaited letter(int n);
  task<> read() {
    for (;;) co_await when<&bouncer::letter>();
  }
  task<> meet() {
    for (;;) co_await barrier();
  }

 private:
  void count() { m_alive.emplace(*m_of.it); }

  in_process<chains> m_chains{};
  in_process<int> m_of{};
  std::optional<counted> m_alive;
};

/// `waits`: elements have coroutines that wait. Ends by exit_run.
task<int> bounce(runtime& rt, int& alive, chains& of, bool waits, int first) {
  const auto all = create_array<bouncer>(rt, bouncers, placement::block, in_process<int>{&alive},
                                         in_process<chains>{&of});
  if (waits) {
    all.invoke<&bouncer::read>();
    all[0].invoke<&bouncer::meet>();
    all[3].invoke<&bouncer::meet>();
  }
  for (int i = 0; i < bouncers; ++i) {
    of.left[std::size_t(i)] = first + i + 1;
    all[i].invoke<&bouncer::bounce>(i, first + i);
  }
  all.invoke<&bouncer::letter>(1);
  promise<> never;
  co_await never.get_future();
  co_return 1;
}

TEST_P(migration_storm, may_be_ended_by_exit_run) {
  int alive = 0;
  int arrivals = 0;
  for (int round = 0; round < many(20, 5); ++round) {
    chains of;
    all.expect(3, [&](runtime& rt) {
      return bounce(rt, alive, of, !all.has_several_ranks(), 10 + round);
    });
    EXPECT_EQ(std::atomic_ref(alive).load(), 0);
    const auto is_at_its_end = [](const std::atomic<int>& left) { return left <= 0; };
    EXPECT_TRUE(std::ranges::any_of(of.left, is_at_its_end));
    arrivals += of.arrivals;
  }
  EXPECT_EQ(arrivals > 0, all.has_several_ranks());
}

}  // namespace
}  // namespace starling
