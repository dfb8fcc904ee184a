// SPDX-License-Identifier: Apache-2.0
// Device time of elements: what is charged to whom, and what balancers make of it. The kernels
// record by themselves how long they compute.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "core/environment.hpp"
#include "load_support.hpp"

namespace starling {
namespace {

using starling_test::compute;
using starling_test::in_process;
using starling_test::now;
using starling_test::on_worker_0;
using starling_test::stay_in_place;

runtime_options on_host_devices(unsigned workers, int devices) {
  runtime_options o = runtime_options::from_environment();
  o.workers = workers;
  o.bind = binding::none;
  o.extra["backend"] = "host";
  o.extra["devices"] = std::to_string(devices);
  return o;
}

/// Computes for a time and adds it to `*seconds`.
struct timed_kernel {
  static constexpr const char* name = "timed_kernel";
  double* seconds;
  double ms;
  void operator()(index3) const { *seconds += compute(ms); }
};

/// Tells the worker that runs it, and waits until a test opens it.
struct gate_kernel {
  static constexpr const char* name = "gate_kernel";
  std::atomic<int>* worker;
  std::atomic<bool>* is_open;
  void operator()(index3) const {
    *worker = runtime::worker_index();
    while (!is_open->load()) std::this_thread::yield();
  }
};

struct on_worker {
  std::size_t worker;
  std::size_t operator()(int, std::uint64_t) const { return worker; }
};

constexpr double rounding = 2e-9;

/// An element with work on a device.
struct launcher : chare<launcher> {
  task<> launch(int kernels, double ms) {
    stream s = devices(*runtime::current()).here().make_stream();
    for (int i = 0; i < kernels; ++i) s.submit(range{1}, timed_kernel{&m_own, ms});
    co_await s.completion();
  }
  task<> launch_graph(double ms) {
    stream s = devices(*runtime::current()).here().make_stream();
    const graph recorded = s.capture([&] { s.submit(range{1}, timed_kernel{&m_own, ms}); });
    co_await recorded.launch(s);
  }
  /// Leaves work behind that nothing waits for.
  void leave(double ms) { m_at.submit(range{1}, timed_kernel{own_of_left.get(), ms}); }
  /// Waits for the work by a second stream.
  task<> launch_behind(double ms) {
    m_at.submit(range{1}, timed_kernel{&m_own, ms});
    stream behind = devices(*runtime::current()).here().make_stream();
    behind.wait(m_at.record());
    co_await behind.completion();
  }
  task<> join(in_process<aggregator> batches, double ms) {
    co_await batches.it->submit(range{1}, timed_kernel{&m_own, ms});
  }
  double own() { return m_own; }
  double device_seconds() { return load_so_far().device_seconds; }
  double elapsed_seconds() { return load_so_far().device_elapsed_seconds; }
  void reset() { element_state().local->array->reset_loads(*element_state().local); }
  void go(int to) { migrate_to(std::size_t(to)); }

 private:
  stream m_at = devices(*runtime::current()).here().make_stream();
  double m_own = 0;
  static inline const std::unique_ptr<double> own_of_left = std::make_unique<double>(0);
};

class device_loads : public testing::Test {
 protected:
  template <auto Entry, class... Args>
  auto ask(const chare_array<launcher>& all, int i, Args... args) {
    return rt.sync_wait(all[i].call<Entry>(args...));
  }
  void measure(const chare_array<launcher>& all, bool on = true) {
    all.measure_loads(on);
    rt.wait_idle();
  }
  runtime rt{on_host_devices(2, 1)};
};

TEST_F(device_loads, are_those_of_the_element_that_submits) {
  const auto all = create_array<launcher>(rt, 3, on_worker_0());
  measure(all);
  const double begin = now();
  ask<&launcher::launch>(all, 1, 3, 1.0);
  ask<&launcher::launch>(all, 2, 1, 2.0);
  const double elapsed = now() - begin;
  EXPECT_EQ(ask<&launcher::device_seconds>(all, 0), 0);
  double sum = 0;
  for (int i = 1; i < 3; ++i) {
    const double measured = ask<&launcher::device_seconds>(all, i);
    EXPECT_GE(measured, ask<&launcher::own>(all, i) - rounding) << i;
    EXPECT_NEAR(ask<&launcher::elapsed_seconds>(all, i), measured, rounding)
        << "the elements did not compute at the same time";
    sum += measured;
  }
  EXPECT_LE(sum, elapsed + rounding);
}

TEST_F(device_loads, of_elements_that_compute_at_the_same_time_have_the_device_s_busy_time_as_sum) {
  const auto all = create_array<launcher>(rt, 8, placement::round_robin);
  measure(all);
  const double begin = now();
  all.invoke<&launcher::launch>(3, 0.5);
  rt.wait_idle();
  const double elapsed = now() - begin;
  double sum = 0, own = 0, undivided = 0;
  for (int i = 0; i < 8; ++i) {
    const double share = ask<&launcher::device_seconds>(all, i);
    const double whole = ask<&launcher::elapsed_seconds>(all, i);
    EXPECT_GT(share, 0) << i;
    EXPECT_LE(share, whole + rounding) << i;
    EXPECT_GE(whole, ask<&launcher::own>(all, i) - rounding) << i;
    sum += share;
    undivided += whole;
    own += ask<&launcher::own>(all, i);
  }
  EXPECT_LE(sum, elapsed + 8 * rounding);
  EXPECT_GE(sum, own / 2 - 8 * rounding) << "two workers run the kernels";
  EXPECT_GE(undivided, own - 8 * rounding);
}

TEST_F(device_loads, contain_graphs) {
  const auto all = create_array<launcher>(rt, 1, on_worker_0());
  measure(all);
  ask<&launcher::launch_graph>(all, 0, 1.0);
  EXPECT_GE(ask<&launcher::device_seconds>(all, 0), ask<&launcher::own>(all, 0) - rounding);
}

TEST_F(device_loads, of_a_batch_are_equal_for_its_members) {
  constexpr std::size_t members = 3;
  stay_in_place(rt, "an element on the worker of the gate would not run");
  aggregator batches(devices(rt).device(0), {.most = members, .streams = 1, .depth = 1});
  // The batch gathers while the gate keeps the stream and one worker busy, and is launched when it
  // is full.
  std::atomic<int> worker_of_gate{-1};
  std::atomic<bool> is_open{false};
  auto gate = batches.submit(range{1}, gate_kernel{&worker_of_gate, &is_open}).get_future();
  while (worker_of_gate < 0) std::this_thread::yield();
  const auto all =
      create_array<launcher>(rt, int(members), on_worker{std::size_t(1 - worker_of_gate.load())});
  all.measure_loads(true);
  all.invoke<&launcher::join>(in_process<aggregator>{&batches}, 1.0);
  while (batches.statistics().submissions < 1 + members) std::this_thread::yield();
  is_open = true;
  rt.wait_idle();
  EXPECT_EQ(batches.statistics().launches, 2u);
  const double first = ask<&launcher::device_seconds>(all, 0);
  double own = 0, sum = 0;
  for (int i = 0; i < int(members); ++i) {
    EXPECT_NEAR(ask<&launcher::device_seconds>(all, i), first, rounding) << i;
    sum += ask<&launcher::device_seconds>(all, i);
    own += ask<&launcher::own>(all, i);
  }
  EXPECT_GT(own, 0);
  EXPECT_GE(sum, own / 2 - members * rounding) << "two workers may run the members";
}

TEST_F(device_loads, begin_at_zero_after_a_reset_and_end_with_the_measurement) {
  const auto all = create_array<launcher>(rt, 1, on_worker_0());
  ask<&launcher::launch>(all, 0, 1, 0.1);
  measure(all);
  EXPECT_EQ(ask<&launcher::device_seconds>(all, 0), 0) << "of work before the measurement";
  ask<&launcher::launch>(all, 0, 1, 0.1);
  ask<&launcher::reset>(all, 0);
  EXPECT_EQ(ask<&launcher::device_seconds>(all, 0), 0);
  ask<&launcher::launch>(all, 0, 1, 0.1);
  EXPECT_GT(ask<&launcher::device_seconds>(all, 0), 0);
  measure(all, false);
  EXPECT_EQ(ask<&launcher::device_seconds>(all, 0), 0);
}

TEST_F(device_loads, move_with_the_element) {
  const auto all = create_array<launcher>(rt, 1, on_worker_0());
  measure(all);
  ask<&launcher::launch>(all, 0, 1, 0.5);
  const double before = ask<&launcher::device_seconds>(all, 0);
  all[0].invoke<&launcher::go>(1);
  rt.wait_idle();
  EXPECT_EQ(ask<&launcher::device_seconds>(all, 0), before);
  ask<&launcher::launch>(all, 0, 1, 0.5);
  EXPECT_GE(ask<&launcher::device_seconds>(all, 0), ask<&launcher::own>(all, 0) - rounding);
}

TEST_F(device_loads, of_elements_that_end_with_work_in_flight_are_dropped) {
  const auto all = create_array<launcher>(rt, 2, on_worker_0());
  measure(all);
  for (int i = 0; i < 20; ++i) all[0].invoke<&launcher::leave>(0.1);
  all[0].destroy();
  rt.wait_idle();
  ask<&launcher::launch>(all, 1, 1, 0.5);
  EXPECT_GE(ask<&launcher::device_seconds>(all, 1), ask<&launcher::own>(all, 1) - rounding);
}

TEST_F(device_loads, are_complete_when_another_stream_has_waited_for_the_work) {
  const auto all = create_array<launcher>(rt, 1, on_worker_0());
  measure(all);
  ask<&launcher::launch_behind>(all, 0, 1.0);
  EXPECT_GE(ask<&launcher::device_seconds>(all, 0), ask<&launcher::own>(all, 0) - rounding);
}

TEST(measured_device_time, can_be_switched_off) {
  auto options = on_host_devices(1, 1);
  options.extra["device-times"] = "no";
  runtime rt(options);
  const auto all = create_array<launcher>(rt, 1, on_worker_0());
  all.measure_loads(true);
  rt.sync_wait(all[0].call<&launcher::launch>(2, 0.1));
  EXPECT_EQ(rt.sync_wait(all[0].call<&launcher::device_seconds>()), 0);
  EXPECT_GT(rt.sync_wait(all[0].call<&launcher::own>()), 0);
}

TEST(measured_device_time, is_an_option_of_two_words) {
  auto options = on_host_devices(1, 1);
  options.extra["device-times"] = "perhaps";
  runtime rt(options);
  EXPECT_THROW(static_cast<void>(create_array<launcher>(rt, 1, on_worker_0())), option_error);
}

// --- balancing

constexpr int elements = 8;

/// Equal loads on the host; on the device the first quarter has eight times the load.
struct heavy_on_device : chare<heavy_on_device> {
  heavy_on_device() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_uses_device, m_end, m_has_balanced);
  }
  double load() const { return 1e-3; }
  double device_load() const { return this_index() < elements / 4 ? 8e-3 : 1e-3; }
  void begin(bool uses_device, callback<int> end) {
    m_uses_device = uses_device;
    m_end = std::move(end);
    this_element().invoke<&heavy_on_device::run>();
  }
  task<> run() {
    if (m_uses_device) static_cast<void>(devices(*runtime::current()));
    if (!std::exchange(m_has_balanced, true)) co_await load_balance();
    contribute(1, reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }
  int place() { return int(this_worker()); }

 private:
  bool m_uses_device = false;
  bool m_has_balanced = false;
  callback<int> m_end;
};

/// Balances an array once; returns the device loads of both workers in milliseconds.
template <class Runtime>
std::vector<double> balanced_device_loads(Runtime& rt, bool uses_devices,
                                          const char* balancer = "greedy") {
  stay_in_place(rt, "the worker of each element is compared");
  const auto all = create_array<heavy_on_device>(rt, elements, placement::block);
  all.balance_by(balance::make_balancer(balancer), 1);
  rt.sync_wait([](chare_array<heavy_on_device> a, bool uses) -> task<> {
    auto [end, done] = make_reply<int>();
    a.invoke<&heavy_on_device::begin>(uses, end);
    EXPECT_EQ(co_await std::move(done), elements);
  }(all, uses_devices));
  std::vector<double> loads(2);
  for (int i = 0; i < elements; ++i) {
    const int at = rt.sync_wait(all[i].template call<&heavy_on_device::place>());
    loads.at(std::size_t(at)) += i < elements / 4 ? 8 : 1;
  }
  return loads;
}

using milliseconds = std::vector<double>;

TEST(balanced_device_load, is_even_on_two_devices_of_a_rank) {
  runtime rt(on_host_devices(2, 2));
  EXPECT_EQ(balanced_device_loads(rt, true), (milliseconds{11, 11}));
}

TEST(balanced_device_load, is_even_on_the_devices_of_two_ranks) {
  starling_test::cluster two{2, 1};
  two.backend = "host";
  starling_test::first_rank rt(two);
  ASSERT_EQ(rt.missing(), "");
  EXPECT_EQ(balanced_device_loads(rt, true), (milliseconds{11, 11}));
}

TEST(balanced_device_load, is_even_on_the_devices_of_two_ranks_without_a_central_rank) {
  const starling_test::variable chosen("STARLING_BALANCER", "diffusion");
  starling_test::cluster two{2, 1};
  two.backend = "host";
  starling_test::first_rank rt(two);
  ASSERT_EQ(rt.missing(), "");
  EXPECT_EQ(balanced_device_loads(rt, true, "diffusion"), (milliseconds{11, 11}));
}

TEST(balanced_device_load, moves_nothing_between_workers_of_one_device) {
  runtime rt(on_host_devices(2, 1));
  EXPECT_EQ(balanced_device_loads(rt, true), (milliseconds{18, 4}));
}

/// Opens the devices of its rank late, or not at all.
struct late_on_device : chare<late_on_device> {
  late_on_device() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_end, m_balancings);
  }
  double load() const { return this_index() % 4 == 0 ? 4e-3 : 1e-3; }
  double device_load() const { return 1e-3; }
  std::uint64_t device_bytes() const { return 1000; }
  void begin(callback<int> end) {
    m_end = std::move(end);
    this_element().invoke<&late_on_device::run>();
  }
  task<> run() {
    while (m_balancings < 3) {
      const bool opens = m_balancings == 1 ? this_index() == 1 : m_balancings == 2;
      if (opens && this_rank().number == 0) static_cast<void>(devices(*runtime::current()));
      ++m_balancings;
      co_await load_balance();
    }
    contribute(1, reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }

 private:
  int m_balancings = 0;
  callback<int> m_end;
};

TEST(balanced_device_load, may_be_known_on_some_ranks_only) {
  starling_test::cluster two{2, 2};
  two.backend = "host";
  starling_test::first_rank rt(two);
  const auto all = create_array<late_on_device>(rt, elements, placement::block);
  all.balance_by(balance::make_balancer("greedy"), 1);
  EXPECT_EQ(rt.sync_wait([](chare_array<late_on_device> a) -> task<int> {
    auto [end, done] = make_reply<int>();
    a.invoke<&late_on_device::begin>(end);
    co_return co_await std::move(done);
  }(all)),
            elements);
}

TEST(balanced_device_load, is_left_out_where_no_device_is_open) {
  runtime rt(on_host_devices(2, 2));
  EXPECT_EQ(balanced_device_loads(rt, false), (milliseconds{18, 4}));
}

}  // namespace
}  // namespace starling
