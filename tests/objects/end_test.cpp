// SPDX-License-Identifier: Apache-2.0
// Chares destroyed during their operations, and runs that end while messages are in flight.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::first_rank;
using starling_test::in_process;
using starling_test::many;
using starling_test::message_of;
using starling_test::stay_in_place;
using namespace std::chrono_literals;

/// Counts outcomes of the coroutines of chares; read after the chares have been destroyed.
struct record {
  std::atomic<int> alive{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> finished{0};
  std::atomic<int> late{0};  // coroutines that outlived all chares
};

/// A base class, so that it outlives the runtime, whose end destroys the remaining chares.
struct with_record {
  record r;
};

class element_destruction : protected with_record, public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, element_destruction, starling_test::some_ranks,
                         starling_test::ranks_name);
/// Complete runs, each of which ends with its runtime.
class run_end : protected with_record, public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, run_end, starling_test::some_ranks, starling_test::ranks_name);
/// Not between ranks: futures do not travel.
class element_destruction_on_one_rank : public element_destruction {};
INSTANTIATE_TEST_SUITE_P(on, element_destruction_on_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

struct waiter : chare<waiter> {
  static constexpr bool one_rank = true;  // futures do not travel; a test on one rank sends one
  explicit waiter(record& r) : m_record(&r) { ++m_record->alive; }
  ~waiter() { --m_record->alive; }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  awaited letter(int number);
  task<> in_when() {
    try {
      co_await when<&waiter::letter>(7);
    } catch (const operation_cancelled&) {
      ++m_record->cancelled;
    }
    touch();
  }
  task<> in_when_without_care() { co_await (when<&waiter::letter>(8) || when<&waiter::letter>(9)); }
  task<> in_reduce() {
    co_await reduce(1, reduction::sum{});
    touch();
  }
  task<> in_barriers() {
    try {
      for (int i = 0; i < 1000; ++i) co_await barrier();
    } catch (const operation_cancelled&) {
      ++m_record->cancelled;
    }
  }
  task<> on_future(shared_future<int> f) {
    co_await f;
    touch();
  }
  task<> on_timer() {
    co_await sleep_for(1ms);
    touch();
  }
  task<> on_stream() {
    stream s = devices(*runtime::current()).device(0).make_stream();
    co_await s.completion();
    touch();
  }
  task<> on_call(element<waiter> other, shared_future<int> f) {
    co_await other.call<&waiter::answer_later>(f);
    touch();
  }
  /// Awaits a message only after the chare has been destroyed.
  task<> on_timer_then_when() {
    co_await sleep_for(1ms);
    co_await in_when();
  }
  void begin_beside() { static_cast<void>(spawn(on_timer())); }
  task<int> answer_later(shared_future<int> f) { co_return co_await f + this_index(); }
  void nothing() {}
  task<> come_to_barrier() { co_await barrier(); }

 private:
  void touch() {
    m_touched = true;  // a sanitizer reports a destroyed chare
    ++m_record->finished;
    if (m_record->alive == 0) ++m_record->late;
  }
  bool m_touched = false;
  record* m_record;
};

TEST_P(element_destruction, cancels_coroutines_that_wait_for_messages) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  rt.sync_wait([](chare_array<waiter> a) -> task<> {
    a.invoke<&waiter::in_when>();
    a.invoke<&waiter::in_when_without_care>();
    co_await quiescence();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
  }(all));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.cancelled, 8);
  EXPECT_EQ(r.finished, 8);
  EXPECT_EQ(r.late, 0);
}

TEST_P(element_destruction_on_one_rank, lets_coroutines_finish_waits_that_complete_by_themselves) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  promise<int> number;
  rt.sync_wait([](chare_array<waiter> a, promise<int>& number, record& r) -> task<> {
    a.invoke<&waiter::on_future>(number.get_future().share());
    a.invoke<&waiter::on_timer>();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
    EXPECT_EQ(r.alive, 8);  // each has a waiting coroutine
    number.set_value(1);
    co_await quiescence();
  }(all, number, r));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.finished, 16);
}

TEST_P(run_end, lets_device_work_finish) {
  first_rank with_device(starling_test::with_backend("host", GetParam()));
  const auto all =
      create_array<waiter>(with_device, 8, placement::round_robin, in_process<record>{&r});
  with_device.sync_wait([](chare_array<waiter> a) -> task<> {
    a.invoke<&waiter::on_stream>();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
  }(all));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.finished, 8);
  EXPECT_EQ(r.late, 0);
}

TEST_P(element_destruction_on_one_rank, reaches_chains_of_chares_that_call_each_other) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  promise<int> number;
  rt.sync_wait([](chare_array<waiter> a, promise<int>& number, record& r) -> task<> {
    const auto shared = number.get_future().share();
    for (int i = 0; i + 1 < 8; ++i) a[i].invoke<&waiter::on_call>(a[i + 1], shared);
    co_await quiescence();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
    EXPECT_EQ(r.alive, 8);
    number.set_value(1);
    co_await quiescence();
  }(all, number, r));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.finished, 7);
}

TEST_P(element_destruction, lets_tasks_beside_the_entry_methods_finish) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  rt.sync_wait([](chare_array<waiter> a) -> task<> {
    a.invoke<&waiter::begin_beside>();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
  }(all));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.finished, 8);
  EXPECT_EQ(r.late, 0);
}

TEST_P(element_destruction, cancels_waits_that_begin_later) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  rt.sync_wait([](chare_array<waiter> a) -> task<> {
    a.invoke<&waiter::on_timer_then_when>();
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
  }(all));
  EXPECT_EQ(r.alive, 0);
  EXPECT_EQ(r.cancelled, 8);
}

TEST_P(element_destruction, frees_elements_that_wait_in_a_reduction_at_its_end) {
  stay_in_place(rt, "reductions of destroyed migrated elements end at once");
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  rt.sync_wait([](chare_array<waiter> a, record& r) -> task<> {
    for (int i = 0; i < 4; ++i) a[i].invoke<&waiter::in_reduce>();
    for (int i = 0; i < 4; ++i) a[i].destroy();
    co_await quiescence();
    EXPECT_EQ(r.alive, 8);  // the result is not yet available
    for (int i = 4; i < 8; ++i) a[i].invoke<&waiter::in_reduce>();
    co_await quiescence();
    EXPECT_EQ(r.alive, 4);
    EXPECT_EQ(r.finished, 8);
  }(all, r));
}

TEST_P(element_destruction, of_all_elements_ends_their_barriers) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  rt.sync_wait([](chare_array<waiter> a) -> task<> {
    a.invoke<&waiter::in_barriers>();
    for (int i = 0; i < 8; ++i) {
      co_await yield();
      a[i].destroy();
    }
    co_await quiescence();
  }(all));
  EXPECT_EQ(r.alive, 0);
}

TEST_P(element_destruction_on_one_rank, still_answers_calls_in_progress) {
  const auto all = create_array<waiter>(rt, 8, placement::round_robin, in_process<record>{&r});
  promise<int> number;
  rt.sync_wait([](chare_array<waiter> a, promise<int>& number) -> task<> {
    const auto shared = number.get_future().share();
    std::vector<future<int>> answers;
    for (int i = 0; i < 8; ++i) answers.push_back(a[i].call<&waiter::answer_later>(shared));
    for (int i = 0; i < 8; ++i) a[i].destroy();
    co_await quiescence();
    number.set_value(100);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(co_await std::move(answers[std::size_t(i)]), 100 + i);
  }(all, number));
  rt.wait_idle();
  EXPECT_EQ(r.alive, 0);
}

TEST_P(run_end, deletes_all_elements) {
  {
    first_rank other(GetParam());
    const auto all = create_array<waiter>(other, 100, placement::block, in_process<record>{&r});
    other.sync_wait(all[99].call<&waiter::nothing>());
    other.wait_idle();
    EXPECT_EQ(r.alive, 100);
  }
  EXPECT_EQ(r.alive, 0);
}

/// Fills the queues and then makes the run fail: the queued messages must be freed.
struct fuse : chare<fuse> {
  void burn(int left, std::vector<int> ballast) {
    if (left == 0) throw std::runtime_error("bang");
    const int n = this_array().extent().extent();
    for (int k = 0; k < 3; ++k)
      this_array()[(this_index() + k + 1) % n].invoke<&fuse::burn>(left - 1, ballast);
    this_array()[this_index()].invoke<&fuse::pile>(left, ballast);
    this_array().invoke<&fuse::pile>(left, ballast);
    static_cast<void>(this_array()[0].call<&fuse::weigh>(std::move(ballast)));
  }
  awaited pile(int reference, std::vector<int> ballast);
  task<std::size_t> weigh(std::vector<int> ballast) {
    co_await yield();
    co_await when<&fuse::pile>(1000);
    co_return ballast.size();
  }
};

TEST_P(run_end, by_an_error_frees_messages_in_flight) {
  for (int repeat = 0; repeat < many(5, 2); ++repeat) {
    first_rank other(GetParam());
    const auto all = create_array<fuse>(other, 31, placement::round_robin);
    EXPECT_THROW(other.sync_wait([](chare_array<fuse> a) -> task<> {
      a[0].invoke<&fuse::burn>(7, std::vector<int>(100, 1));
      promise<> never;
      co_await never.get_future();
    }(all)),
                 entry_error);
  }
}

TEST_P(run_end, by_an_error_frees_elements_that_are_being_inserted) {
  for (int repeat = 0; repeat < many(5, 2); ++repeat) {
    struct doomed : chare<doomed, std::string> {
      explicit doomed(int left) {
        if (left == 0) throw std::runtime_error("stillborn");
        this_array().insert(this_index() + "l", left - 1);
        this_array()[this_index() + "r"].template invoke<&doomed::note>(std::vector<int>(50));
        if (left > 1) this_array().insert(this_index() + "r", left - 1);
      }
      void note(const std::vector<int>&) {}
    };
    first_rank other(GetParam());
    const auto all = create_sparse_array<doomed>(other);
    const std::string text = message_of<entry_error>([&] {
      other.sync_wait([](chare_array<doomed> a) -> task<> {
        a.insert("", 9);
        promise<> never;
        co_await never.get_future();
      }(all));
    });
    EXPECT_NE(text.find("constructor: stillborn"), std::string::npos) << text;
  }
}

/// Keeps its worker busy until the test permits it to end.
struct spinner : chare<spinner> {
  enum stage { idle, spins, may_end, gave_up };
  using shared_stage = in_process<std::atomic<int>>;

  void spin(shared_stage now) {
    const auto begin = std::chrono::steady_clock::now();
    now.it->store(spins);
    while (now.it->load() == spins)
      if (std::chrono::steady_clock::now() - begin > 60s) now.it->store(gave_up);
  }
  void fail_beside(shared_stage now) {
    while (now.it->load() == idle) std::this_thread::yield();
    throw std::runtime_error("the density is negative");
  }
};

class run_end_beside_busy_workers : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, run_end_beside_busy_workers,
                         testing::Values(starling_test::cluster{2, 1}, starling_test::cluster{3, 1},
                                         starling_test::cluster{3, 2},
                                         starling_test::over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(run_end_beside_busy_workers, is_caused_by_errors_of_any_rank) {
  for (int busy = 0; busy < all.ranks; ++busy) {
    std::atomic<int> stage{spinner::idle};
    first_rank other(all);
    const auto spinners = create_rank_group<spinner>(other);
    const int failing = (busy + 1) % all.ranks;
    const std::string text = message_of<entry_error>([&] {
      other.sync_wait(
          [](chare_array<spinner> a, int busy, int failing, spinner::shared_stage stage) -> task<> {
            a[failing].invoke<&spinner::fail_beside>(stage);
            a[busy].invoke<&spinner::spin>(stage);
            promise<> never;
            co_await never.get_future();
          }(spinners, busy, failing, {&stage}));
    });
    EXPECT_NE(text.find("the density is negative"), std::string::npos) << text;
    EXPECT_EQ(stage.exchange(spinner::may_end), spinner::spins) << "rank " << busy << " was busy";
  }
}

}  // namespace
}  // namespace starling
