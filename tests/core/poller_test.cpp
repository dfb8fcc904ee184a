// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

/// Operations that complete after a number of polls, or when `complete` is called.
class counting_poller final : public poller {
 public:
  explicit counting_poller(bool must_poll) : m_must_poll(must_poll) {}

  struct awaiter {
    counting_poller& owner;
    int polls;
    bool await_ready() const noexcept { return false; }
    template <detail::runtime_promise Promise>
    void await_suspend(std::coroutine_handle<Promise> h,
                       const std::source_location& at = std::source_location::current()) {
      detail::mark_suspended(h.promise(), await_kind::event, this, nullptr, at);
      owner.start(h.promise(), polls);
    }
    void await_resume() const noexcept {}
  };
  awaiter after(int polls) { return {*this, polls}; }

  void complete_all() {
    std::lock_guard lock(m_mutex);
    for (auto& o : m_operations) o.polls = 0;
  }

  void poll(detail::ready_list& ready) noexcept override {
    EXPECT_FALSE(m_inside.exchange(true)) << "two workers poll at the same time";
    {
      std::lock_guard lock(m_mutex);
      std::erase_if(m_operations, [&ready](operation& o) {
        if (--o.polls > 0) return false;
        ready.push(*o.waiting);
        return true;
      });
      m_count = m_operations.size();
    }
    m_inside = false;
  }
  std::size_t in_flight() const noexcept override { return m_count; }
  bool needs_polling() const noexcept override { return m_must_poll && m_count != 0; }

 private:
  struct operation {
    detail::promise_base* waiting;
    int polls;
  };
  void start(detail::promise_base& c, int polls) {
    std::lock_guard lock(m_mutex);
    m_operations.push_back({&c, polls});
    m_count = m_operations.size();
  }

  const bool m_must_poll;
  std::mutex m_mutex;
  std::vector<operation> m_operations;
  std::atomic<std::size_t> m_count{0};
  std::atomic<bool> m_inside{false};
};

/// An operation that completes at a point in time, by the clock that pollers use.
class clock_poller final : public poller {
 public:
  explicit clock_poller(bool must_poll) : m_must_poll(must_poll) {}

  struct awaiter {
    clock_poller& owner;
    bool await_ready() const noexcept { return false; }
    template <detail::runtime_promise Promise>
    void await_suspend(std::coroutine_handle<Promise> h,
                       const std::source_location& at = std::source_location::current()) {
      detail::mark_suspended(h.promise(), await_kind::event, this, nullptr, at);
      owner.m_due = tracer::now() + 2'000'000;
      owner.m_waiting = &h.promise();
    }
    void await_resume() const noexcept {}
  };
  awaiter due() { return {*this}; }

  void poll(detail::ready_list& ready) noexcept override {
    if (m_waiting == nullptr || detail::worker::current()->coarse_now() < m_due) return;
    if (auto* c = m_waiting.exchange(nullptr)) ready.push(*c);
  }
  std::size_t in_flight() const noexcept override { return m_waiting != nullptr; }
  bool needs_polling() const noexcept override { return m_must_poll && m_waiting != nullptr; }
  std::uint64_t next_deadline() const noexcept override {
    return m_waiting != nullptr ? m_due.load() : 0;
  }

 private:
  const bool m_must_poll;
  std::atomic<std::uint64_t> m_due{0};
  std::atomic<detail::promise_base*> m_waiting{nullptr};
};

class a_poller : public with_workers {};
INSTANTIATE_TEST_SUITE_P(core, a_poller, worker_counts, worker_count_name);

task<int> wait_on(counting_poller& p, int polls) {
  co_await p.after(polls);
  co_return 1;
}

TEST_P(a_poller, is_polled_while_something_is_in_flight) {
  counting_poller p(true);
  rt.add_poller(p);
  std::vector<future<int>> all;
  for (int i = 0; i < 20; ++i) all.push_back(rt.spawn(wait_on(p, 10 * i)));
  EXPECT_EQ(rt.sync_wait(when_all(std::move(all))), std::vector<int>(20, 1));
  rt.remove_poller(p);
}

TEST_P(a_poller, keeps_the_runtime_from_being_drained) {
  counting_poller p(true);
  std::atomic<int> done{0};
  rt.add_poller(p);
  for (int i = 0; i < 5; ++i)
    rt.post([](counting_poller& q, std::atomic<int>& n) -> task<> {
      co_await q.after(2000);
      ++n;
    }(p, done));
  rt.wait_idle();
  EXPECT_EQ(done, 5);
  rt.remove_poller(p);
}

TEST_P(a_poller, that_wakes_workers_itself_lets_them_sleep) {
  counting_poller p(false);
  rt.add_poller(p);
  std::atomic<bool> started{false};
  std::uint64_t slept = 0;
  std::thread driver([&] {
    while (!started || rt.statistics(0).slept == slept) std::this_thread::yield();
    p.complete_all();
    rt.notify_pollers();
  });
  const int value = rt.sync_wait([](runtime& r, counting_poller& q, std::atomic<bool>& flag,
                                    std::uint64_t& before) -> task<int> {
    co_await r.on_worker(0).schedule();
    before = r.statistics(0).slept;
    flag = true;
    co_return co_await wait_on(q, 1 << 30);
  }(rt, p, started, slept));
  driver.join();
  EXPECT_EQ(value, 1);
  rt.remove_poller(p);
}

TEST_P(a_poller, never_misses_a_notification_between_the_last_poll_and_sleep) {
  runtime_options options = options_with(GetParam());
  options.spin_us = 0;  // workers sleep as soon as they can
  runtime hasty(options);
  counting_poller p(false);
  hasty.add_poller(p);
  const int rounds = many(3000, 30);
  std::atomic<int> begun{0};
  std::thread driver([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (begun < i) std::this_thread::yield();
      while (p.in_flight() == 0) {
      }
      for (int delay = i * 37 % 20000; delay > 0 && begun == i; --delay) {
      }
      p.complete_all();
      hasty.notify_pollers();
    }
  });
  for (int i = 1; i <= rounds; ++i)
    EXPECT_EQ(hasty.sync_wait([](counting_poller& q, std::atomic<int>& n, int round) -> task<int> {
      n = round;
      co_return co_await wait_on(q, 1 << 30);
    }(p, begun, i)),
              1);
  driver.join();
  hasty.remove_poller(p);
}

TEST_P(a_poller, is_polled_while_tasks_keep_the_worker_busy) {
  counting_poller p(true);
  rt.add_poller(p);
  std::atomic<bool> stop{false};
  auto busy = [](std::atomic<bool>& s) -> task<> {
    while (!s) co_await yield();
  };
  std::vector<future<void>> load;
  for (unsigned i = 0; i < rt.worker_count(); ++i) load.push_back(rt.spawn(busy(stop)));
  EXPECT_EQ(rt.sync_wait(wait_on(p, 20)), 1);
  stop = true;
  rt.sync_wait(when_all(std::move(load)));
  rt.remove_poller(p);
}

/// Device errors are detected so: idle workers query streams without progress after a while.
TEST_P(a_poller, is_polled_at_its_due_time_while_all_workers_are_idle) {
  for (const bool must_poll : {true, false}) {
    clock_poller p(must_poll);
    rt.add_poller(p);
    rt.sync_wait([](clock_poller& q) -> task<> { co_await q.due(); }(p));
    rt.remove_poller(p);
  }
}

/// A poll that takes as long as a driver call may: until a task of another worker has run.
class slow_poller final : public poller {
 public:
  /// Each of the next `polls` polls waits for one call of `release`.
  void start(int polls) { m_polls.store(polls); }
  [[nodiscard]] int worker_inside() const noexcept { return m_inside.load(); }
  void release() noexcept { m_inside.store(-1); }
  [[nodiscard]] bool ended_in_time() const noexcept { return m_in_time.load(); }

  void poll(detail::ready_list&) noexcept override {
    if (m_polls.load() == 0) return;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    m_inside.store(runtime::worker_index());
    while (m_inside.load() >= 0) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() < limit) continue;
      m_in_time.store(false);
      m_inside.store(-1);
    }
    m_polls.fetch_sub(1);
  }
  std::size_t in_flight() const noexcept override { return m_polls.load() == 0 ? 0 : 1; }

 private:
  std::atomic<int> m_polls{0};
  std::atomic<int> m_inside{-1};  // the polling worker, or -1
  std::atomic<bool> m_in_time{true};
};

TEST(poller, does_not_hold_up_the_tasks_of_other_workers) {
  slow_poller slow;
  runtime rt(options_with(2));
  rt.add_poller(slow);
  for (int round = 0; round < 8 && slow.ended_in_time(); ++round) {
    slow.start(1);
    rt.notify_pollers();
    while (slow.worker_inside() < 0) std::this_thread::yield();
    const unsigned other = slow.worker_inside() == 0 ? 1 : 0;
    // Time for the other worker to search for work and to check whether a poll is needed.
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    rt.sync_wait(async(rt.on_worker(other), [&slow] { slow.release(); }));
    while (slow.in_flight() != 0) std::this_thread::yield();
  }
  rt.remove_poller(slow);
  EXPECT_TRUE(slow.ended_in_time()) << "the other worker waited for the poll";
}

}  // namespace
