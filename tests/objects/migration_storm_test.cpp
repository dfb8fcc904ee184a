// SPDX-License-Identifier: Apache-2.0
// Elements that migrate all the time, while they are destroyed and while the run ends.
#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::counted;
using starling_test::in_process;
using starling_test::many;

/// Migration between ranks is not there yet, so only one rank.
class migration_storm : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, migration_storm,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}),
                         starling_test::ranks_name);

constexpr int callers = 5;
constexpr int targets = 6;

/// The messages that each target has processed, by sender.
struct processed {
  std::array<std::array<std::atomic<int>, targets>, callers> of{};
};

/// Migrates after every few messages.
struct target : chare<target> {
  explicit target(in_process<processed> p) : m_processed(p.it) {}
  int take(int from, int n) {
    auto& mine = m_processed->of[std::size_t(from)][std::size_t(this_index())];
    EXPECT_EQ(mine.fetch_add(1), n) << "target " << this_index() << ", sender " << from;
    step(n);
    return n;
  }
  task<int> take_slowly(int from, int n) {
    const int taken = take(from, n);  // coroutines begin in the order of their messages
    co_await yield();
    co_return taken;
  }

 private:
  void step(int n) {
    const std::size_t workers = runtime::current()->worker_count();
    if (n % 3 == 0) migrate_to(std::size_t(this_index() + n / 3) % workers);
  }
  processed* m_processed;
};

/// Calls all targets and destroys one of them in between.
struct caller : chare<caller> {
  task<std::string> call_all(chare_array<target> all, in_process<processed> p, int count) {
    std::array<std::vector<future<int>>, targets> answers;
    for (int n = 0; n < count; ++n) {
      for (int t = 0; t < targets; ++t)
        answers[std::size_t(t)].push_back((n + t) % 4 == 0
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

TEST_P(migration_storm, answers_calls_before_a_destruction_and_refuses_later_ones) {
  for (int round = 0; round < many(20, 3); ++round) {
    processed p;
    const auto all =
        create_array<target>(rt, targets, placement::round_robin, in_process<processed>{&p});
    const auto senders = create_array<caller>(rt, callers, placement::block);
    rt.sync_wait([](chare_array<caller> s, chare_array<target> t, processed& of) -> task<> {
      std::vector<future<std::string>> ends;
      for (int i = 0; i < callers; ++i)
        ends.push_back(s[i].call<&caller::call_all>(t, in_process<processed>{&of}, 60));
      for (const std::string& errors : co_await when_all(std::move(ends))) EXPECT_EQ(errors, "");
    }(senders, all, p));
    // Only the callers destroy, each one target.
    for (int from = 0; from < callers; ++from) EXPECT_EQ(p.of[std::size_t(from)][targets - 1], 60);
  }
}

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

TEST_P(migration_storm, resumes_coroutines_on_the_worker_of_their_element) {
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

/// Migrates at every message and has coroutines that wait.
struct bouncer : chare<bouncer> {
  explicit bouncer(in_process<int> alive) : m_alive(*alive.it) {}
  void bounce(int n) {
    const std::size_t workers = runtime::current()->worker_count();
    migrate_to(std::size_t(n) % workers);
    if (n == 0) exit_run(3);
    const int others = this_array().extent().extent();
    this_array()[(this_index() + 1 + n % 2) % others].invoke<&bouncer::bounce>(n - 1);
  }
  awaited letter(int n);
  task<> read() {
    for (;;) co_await when<&bouncer::letter>();
  }
  task<> meet() {
    for (;;) co_await barrier();
  }

 private:
  counted m_alive;
};

TEST_P(migration_storm, may_be_ended_by_exit_run) {
  int alive = 0;
  for (int round = 0; round < many(20, 5); ++round) {
    runtime ours(starling_test::options_with(GetParam().workers));
    const auto all = create_array<bouncer>(ours, 7, placement::block, in_process<int>{&alive});
    const int status = run(ours, [](chare_array<bouncer> a, int first) -> task<> {
      a.invoke<&bouncer::read>();
      a[0].invoke<&bouncer::meet>();
      a[3].invoke<&bouncer::meet>();
      for (int i = 0; i < 7; ++i) a[i].invoke<&bouncer::bounce>(first + i);
      a.invoke<&bouncer::letter>(1);
      promise<> never;
      co_await never.get_future();
    }(all, 10 + round));
    EXPECT_EQ(status, 3);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace starling
