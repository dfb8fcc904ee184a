// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <experimental/simd>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/channel.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/when_all.hpp>
#include <starling/device.hpp>

namespace starling {
namespace {

runtime_options host_options(unsigned workers, const char* completion = "word") {
  runtime_options options = runtime_options::from_environment();
  options.workers = workers;
  options.bind = binding::none;
  options.extra = {{"backend", "host"}, {"completion", completion}};
  return options;
}

struct nothing_to_do {
  void operator()(index3) const {}
};

/// A rounding-sensitive value per index, computed in lanes where they fit.
struct rounding {
  static constexpr int host_grain = 16;
  const double* in;
  double* out;
  template <class Index>
  constexpr void operator()(Index i) const {
    const std::int64_t at = std::int64_t(i.y) * 1000 + i.x;
    out[at] = in[at] / 3.0 + 0.1;
  }
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    const std::int64_t at = std::int64_t(i.y) * 1000 + i.x;
    const V value([this, at](auto k) { return in[at + std::int64_t(k)]; });
    const V result = value / V(3.0) + V(0.1);
    for (std::size_t k = 0; k < V::size(); ++k) out[at + std::int64_t(k)] = result[k];
  }
};

std::vector<double> rounded_by(unsigned workers) {
  runtime rt(host_options(workers));
  std::vector<double> in(1000 * 57);
  std::vector<double> out(in.size(), -1.0);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sqrt(double(i));
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1000, 57}, rounding{in.data(), out.data()});
  rt.sync_wait(s.completion());
  return out;
}

TEST(host_stream, results_do_not_depend_on_the_division_into_tasks) {
  const std::vector<double> alone = rounded_by(1);
  EXPECT_EQ(rounded_by(2), alone);
  EXPECT_EQ(rounded_by(4), alone);
}

/// Writes the number of indices that were computed at once.
struct width_mark {
  int* width;
  template <class Index>
  constexpr void operator()(Index i) const {
    width[i.x] = 1;
  }
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    for (std::size_t k = 0; k < V::size(); ++k) width[i.x + int(k)] = int(V::size());
  }
};

TEST(host_stream, uses_the_lane_form_for_all_but_the_remainder) {
  using lanes = std::experimental::native_simd<double>;
  static_assert(lane_kernel<width_mark, lanes> && !lane_kernel<nothing_to_do, lanes>);
  runtime rt(host_options(2));
  std::vector<int> width(5003, 0);
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{5003}, width_mark{width.data()});
  rt.sync_wait(s.completion());
  constexpr int at_once = int(lanes::size());
  EXPECT_EQ(std::ranges::count(width, at_once), at_once == 1 ? 5003 : 5003 - 5003 % at_once);
  EXPECT_EQ(std::ranges::count(width, 0), 0);
}

/// Every index waits until all workers are inside the kernel.
struct meet {
  static constexpr int host_grain = 1;
  std::atomic<int>* inside;
  int expected;
  void operator()(index3) const {
    inside->fetch_add(1);
    while (inside->load() < expected) {
    }
  }
};

TEST(host_stream, large_kernels_run_on_several_workers_at_once) {
  runtime rt(host_options(3));
  std::atomic<int> inside{0};
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1, 3}, meet{&inside, 3});
  rt.sync_wait(s.completion());
  EXPECT_EQ(inside.load(), 3);
}

TEST(host_stream, different_streams_run_at_once) {
  runtime rt(host_options(2));
  std::atomic<int> inside{0};
  stream a = devices(rt).device(0).make_stream();
  stream b = devices(rt).device(0).make_stream();
  a.submit(range{1}, meet{&inside, 2});
  b.submit(range{1}, meet{&inside, 2});
  rt.sync_wait(a.completion());
  rt.sync_wait(b.completion());
  EXPECT_EQ(inside.load(), 2);
}

task<void> keep_going(stream& s, std::atomic<bool>& stop) {
  while (!stop.load()) {
    for (int i = 0; i < 100; ++i) s.submit(range{1}, nothing_to_do{});
    co_await s.completion();
  }
}

TEST(host_stream, busy_streams_leave_room_for_other_tasks) {
  runtime rt(host_options(1));
  std::atomic<bool> stop{false};
  stream s = devices(rt).device(0).make_stream();
  future<void> busy = rt.spawn(keep_going(s, stop));
  rt.sync_wait([](std::atomic<bool>& flag) -> task<void> {
    for (int i = 0; i < 100; ++i) co_await yield();
    flag.store(true);
  }(stop));
  rt.sync_wait(std::move(busy));
}

TEST(host_stream, one_worker_suffices_for_waiting_in_place_across_streams) {
  runtime rt(host_options(1, "block"));
  rt.sync_wait([](device& d) -> task<void> {
    std::vector<int> a(1000, 1);
    std::vector<int> b(1000, 0);
    stream one = d.make_stream();
    stream two = d.make_stream();
    stream three = d.make_stream();
    for (int i = 0; i < 100; ++i) {
      one.fill(a, i);
      two.wait(one.record());
      two.copy(b, a);
      three.wait(two.record());
      one.wait(three.record());
    }
    co_await three.completion();
    EXPECT_EQ(b[999], 99);
    co_await one.completion();
  }(devices(rt).device(0)));
}

TEST(host_stream, awaiting_work_that_hangs_on_a_dead_channel_is_diagnosed) {
  runtime rt(host_options(1));
  channel<int> never;
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1}, nothing_to_do{});
  // Completed device work does not prevent a hang: the channel's waiter is alone and hangs.
  EXPECT_THROW(rt.sync_wait([](stream& work, channel<int>& c) -> task<void> {
    co_await work.completion();
    static_cast<void>(co_await c.receive());
  }(s, never)),
               hang_error);
}

/// An awaitable that never resumes its waiter.
struct oblivion {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};

TEST(host_stream, an_await_that_did_not_suspend_leaves_no_trace_for_the_diagnosis) {
  runtime rt(host_options(1));
  stream s = devices(rt).device(0).make_stream();
  try {
    rt.sync_wait([](stream& idle) -> task<void> {
      co_await idle.completion();
      co_await oblivion{};
    }(s));
    ADD_FAILURE() << "was not resumed";
  } catch (const hang_error& e) {
    EXPECT_EQ(std::string(e.what()).find("device work"), std::string::npos) << e.what();
  }
}

TEST(host_stream, ends_with_the_runtime_without_a_waiter) {
  std::atomic<int> inside{0};
  {
    runtime rt(host_options(2));
    stream s = devices(rt).device(0).make_stream();
    for (int i = 0; i < 1000; ++i) s.submit(range{1}, meet{&inside, 0});
  }
  EXPECT_EQ(inside.load(), 1000);
}

struct pass_gate {
  std::atomic<bool>* open;
  void operator()(index3) const {
    while (!open->load()) {
    }
  }
};

/// Requests a completion and lets the stream reach the mark; only a poll can detect that.
void pass_mark_unseen(stream& s) {
  std::atomic<bool> open{false};
  s.submit(range{1}, pass_gate{&open});
  EXPECT_FALSE(s.is_idle());
  const event after = s.record();
  open.store(true);
  while (!after.is_complete()) std::this_thread::yield();
}

void await_sleep(const runtime& rt, unsigned worker, std::uint64_t slept_before) {
  while (rt.statistics(worker).slept == slept_before) std::this_thread::yield();
}

task<std::uint64_t> count_sleeps(runtime& rt) {
  co_return rt.statistics(unsigned(runtime::worker_index())).slept;
}

TEST(host_stream, a_task_of_another_runtime_may_wait) {
  runtime one(host_options(1, "event"));
  runtime two(host_options(1, "event"));
  stream s = devices(one).device(0).make_stream();
  pass_mark_unseen(s);
  await_sleep(one, 0, one.sync_wait(one.spawn(count_sleeps(one))));
  two.sync_wait([](stream& work) -> task<void> { co_await work.get_future(); }(s));
}

task<void> ask_and_compute(runtime& owner, stream& s, std::uint64_t slept_before) {
  await_sleep(owner, 1, slept_before);
  const future<void> done = s.get_future();
  while (!done.is_ready()) {  // computes until the other worker has set it
  }
  co_return;
}

TEST(host_stream, completion_is_reported_while_the_waiting_worker_computes) {
  runtime rt(host_options(2, "event"));
  stream s = devices(rt).device(0).make_stream();
  for (int round = 0; round < 10; ++round) {
    pass_mark_unseen(s);
    const std::uint64_t slept = rt.sync_wait(rt.on_worker(1).spawn(count_sleeps(rt)));
    rt.sync_wait(rt.on_worker(0).spawn(ask_and_compute(rt, s, slept)));
  }
}

TEST(host_stream, writes_spans_of_kernels_and_copies) {
  runtime_options options = host_options(2);
  runtime rt(options);
  rt.tracer().enable();
  std::vector<int> a(10);
  std::vector<int> b(10);
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{5}, nothing_to_do{});
  s.copy(a, b);
  rt.sync_wait(s.completion());
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  for (const trace_total& t : rt.tracer().totals()) {
    if (t.kind == span_kind::kernel && t.name.find("nothing_to_do") != std::string::npos)
      kernels += t.count;
    if (t.kind == span_kind::copy && t.name == "copy") copies += t.count;
  }
  EXPECT_EQ(kernels, 1u);
  EXPECT_EQ(copies, 1u);
}

TEST(host_stream, two_runtimes_do_not_mix) {
  runtime one(host_options(1));
  runtime two(host_options(1));
  EXPECT_NE(&devices(one), &devices(two));
  stream a = devices(one).device(0).make_stream();
  stream b = devices(two).device(0).make_stream();
  std::vector<int> x(4, 0);
  std::vector<int> y(4, 0);
  a.fill(x, 1);
  b.fill(y, 2);
  one.sync_wait(a.completion());
  two.sync_wait(b.completion());
  EXPECT_EQ(x[3], 1);
  EXPECT_EQ(y[3], 2);
}

}  // namespace
}  // namespace starling
