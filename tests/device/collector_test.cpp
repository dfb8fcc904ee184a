// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "device/collector.hpp"
#include "device/device_impl.hpp"
#include "device/support.hpp"

namespace starling {
namespace {

using starling_test::on_host;

/// Blocks each caller of `pass` until it is opened.
class gate {
 public:
  void pass() noexcept {
    m_state.store(entered);
    while (m_state.load() != open_for_all) std::this_thread::yield();
  }
  void await_entry() const noexcept {
    while (m_state.load() == untouched) std::this_thread::yield();
  }
  void open() noexcept { m_state.store(open_for_all); }

 private:
  enum state { untouched, entered, open_for_all };
  std::atomic<int> m_state{untouched};
};

struct pass_gate {
  gate* at;
  void operator()(index3) const { at->pass(); }
};

struct add_one {
  std::uint64_t* a;
  void operator()(index3) const { *a += 1; }
};

task<void> occupy(gate& g) {
  g.pass();
  co_return;
}
task<void> do_nothing() { co_return; }

/// Commits a sequence and leaves the worker to a task that occupies it until the gate opens.
task<void> add_and_leave(runtime& rt, aggregator& gathered, std::uint64_t* a, std::stop_token stop,
                         gate& g) {
  sequence s = gathered.submit(range{1}, add_one{a});
  rt.on_worker(1).post(occupy(g));
  co_await s.completion(std::move(stop));
}

TEST(a_collector, outlives_stop_requests_that_use_it) {
  gate before;
  gate device_work;
  gate after;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  runtime rt(on_host(2));
  device& d = devices(rt).device(0);
  const auto& collectors = d.internals().collectors;
  auto gathered = std::make_unique<aggregator>(d, aggregation{.streams = 1});
  // Worker 0 does the device's work, because worker 1 is occupied when that work arrives.
  future<void> occupied = rt.on_worker(1).spawn(occupy(before));
  before.await_entry();
  future<void> held = gathered->submit(range{1}, pass_gate{&device_work}).get_future();
  device_work.await_entry();
  before.open();
  rt.sync_wait(std::move(occupied));
  std::stop_source stop;
  future<void> stopped =
      rt.on_worker(1).spawn(add_and_leave(rt, *gathered, &a, stop.get_token(), after));
  after.await_entry();
  future<void> beside = gathered->submit(range{1}, add_one{&b}).get_future();
  device_work.open();
  rt.sync_wait(std::move(held));
  rt.sync_wait(std::move(beside));
  rt.sync_wait(rt.on_worker(0).spawn(do_nothing()));  // it has left the collector, too
  EXPECT_EQ(a, 1u);

  // All work is done, but the first task has not been resumed.
  gathered.reset();
  const aggregator second(d);
  EXPECT_EQ(collectors.size(), 2u) << "that of the first is kept";
  stop.request_stop();
  after.open();
  EXPECT_NO_THROW(rt.sync_wait(std::move(stopped)));
  const aggregator third(d);
  EXPECT_EQ(collectors.size(), 2u) << "that of the first is gone";
}

/// A sequence that a thread without a task commits.
struct bare_member : detail::batch_member {
  bare_member(detail::collector& where, std::uint64_t* a) : batch_member(where) {
    const add_one k{a};
    operations.add(detail::make_call(range{1}, k, detail::default_shape<add_one>()));
    notify = [](device_waiter& w) noexcept { static_cast<bare_member&>(w).is_over.store(true); };
  }
  void wait() const noexcept {
    while (!is_over.load()) std::this_thread::yield();
  }
  std::atomic<bool> is_over{false};
};

TEST(a_collector, forgets_the_waiting_time_of_withdrawn_submissions) {
  gate device_work;
  std::uint64_t a[3] = {};
  runtime rt(on_host(1));
  device& d = devices(rt).device(0);
  aggregator gathered(d, {.streams = 1});
  detail::collector& home = *d.internals().collectors.front();
  future<void> held = gathered.submit(range{1}, pass_gate{&device_work}).get_future();
  device_work.await_entry();
  bare_member first(home, &a[0]);
  bare_member second(home, &a[1]);
  bare_member third(home, &a[2]);
  for (bare_member* m : {&first, &second, &third}) EXPECT_TRUE(detail::commit(*m));
  const detail::batch& together = *first.in;
  EXPECT_EQ(together.waited, 3u);
  EXPECT_TRUE(detail::withdraw(first));
  EXPECT_FALSE(detail::withdraw(first)) << "once is enough";
  EXPECT_TRUE(detail::withdraw(third));
  EXPECT_EQ(together.waited, 1u);
  EXPECT_EQ(together.committed_ns, second.committed_ns);
  device_work.open();
  rt.sync_wait(std::move(held));
  second.wait();
  EXPECT_EQ(a[0] + 10 * a[1] + 100 * a[2], 10u);
  const aggregation_statistics counts = gathered.statistics();
  EXPECT_EQ(counts.submissions, 2u);
  EXPECT_EQ(counts.withdrawn, 2u);
  EXPECT_EQ(counts.largest, 1u);
}

struct count_up {
  std::atomic<int>* done;
  void operator()(index3) const { done->fetch_add(1); }
};

/// Returns the number of its turns between the first and the last of `all`.
task<int> count_turns(const std::atomic<int>& done, int all) {
  int turns = 0;
  for (int now = 0; now < all; now = done.load()) {
    if (now > 0) ++turns;
    co_await yield();
  }
  co_return turns;
}

TEST(a_collector, lets_tasks_run_between_launches_that_are_waited_for_in_place) {
  constexpr int shapes = 8;
  gate device_work;
  std::atomic<int> done{0};
  runtime rt(on_host(1, {{"completion", "block"}}));
  aggregator gathered(devices(rt).device(0), {.streams = 1});
  std::thread waits_in_place(
      [&] { static_cast<void>(gathered.submit(range{1}, pass_gate{&device_work}).get_future()); });
  device_work.await_entry();
  for (int i = 0; i < shapes; ++i)  // each in a batch of its own
    static_cast<void>(gathered.submit(range{1}, count_up{&done}, {.threads = i + 1}).get_future());
  future<int> turns = rt.spawn(count_turns(done, shapes));
  device_work.open();
  EXPECT_GT(rt.sync_wait(std::move(turns)), 0);
  waits_in_place.join();
  EXPECT_EQ(gathered.statistics().launches, std::uint64_t(1 + shapes));
}

}  // namespace
}  // namespace starling
