// SPDX-License-Identifier: Apache-2.0
// Measured loads of elements: traffic, values that chares supply, the end and migration.
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "load_support.hpp"

namespace starling {
namespace {

using starling_test::burner;
using starling_test::cluster;
using starling_test::compute;
using starling_test::now;
using starling_test::on_worker_0;
using starling_test::rate_error;
using starling_test::resolution;
using starling_test::stay_in_place;

class load_counts : public starling_test::measured_ranks {};
INSTANTIATE_TEST_SUITE_P(on, load_counts, starling_test::some_ranks, starling_test::ranks_name);

// --- traffic

struct payload {
  std::array<double, 10> values{};
};

/// Sends to other elements, and returns the traffic that was counted for it.
struct talker : chare<talker> {
  void hear(payload) {}
  int hear_call(int n) { return n; }
  awaited letter(int n, double x);
  task<> read(int letters) {
    for (int i = 0; i < letters; ++i) co_await when<&talker::letter>();
  }
  void tell(int to, int times) {
    for (int i = 0; i < times; ++i) this_array()[to].invoke<&talker::hear>(payload());
  }
  task<> call_one(int to) { co_await this_array()[to].call<&talker::hear_call>(1); }
  void write(int to) { this_array()[to].invoke<&talker::letter>(1, 2.0); }

  std::vector<double> sent() {  // destination, messages, bytes, …
    std::vector<double> all;
    detail::array_base::for_each_destination(*this, [&](const sent_traffic& t) {
      EXPECT_EQ(t.to.array, element_state().local->array->id());
      all.insert(all.end(), {double(t.to.element), double(t.messages), double(t.bytes)});
    });
    return all;
  }
  std::vector<double> sums() {
    const load_measurement m = load_so_far();
    return {double(m.sent_messages), double(m.sent_bytes)};
  }
  /// Visits the elements of this worker.
  std::vector<double> visit() {
    std::vector<double> found;
    auto& local = *element_state().local;
    local.array->for_each_load(local, [&](detail::chare_core& c, const load_measurement& m) {
      found.push_back(double(local.array->number_of(c).element));
      found.push_back(double(m.messages));
    });
    return found;
  }
  void reset() {
    auto& local = *element_state().local;
    local.array->reset_loads(local);
  }
};

TEST_P(load_counts, messages_are_counted_by_destination) {
  constexpr int count = 12;
  const auto all = create_array<talker>(rt, count, placement::round_robin);
  switch_loads(all, true);
  all[2].invoke<&talker::hear>(payload());  // sent by no element
  for (int to = 0; to < count; ++to) all[0].invoke<&talker::tell>(to, to);
  all[0].invoke<&talker::call_one>(7);
  all[0].invoke<&talker::write>(8);
  rt.sync_wait(all[8].call<&talker::read>(1));
  rt.wait_idle();
  std::map<int, std::pair<double, double>> sent;
  const std::vector<double> found = ask<&talker::sent>(all[0]);
  for (std::size_t i = 0; i < found.size(); i += 3)
    EXPECT_TRUE(sent.emplace(int(found[i]), std::pair(found[i + 1], found[i + 2])).second);
  EXPECT_EQ(sent.size(), std::size_t(count - 1)) << "no message to element 0";
  double messages = 0;
  double bytes = 0;
  for (const auto& [to, t] : sent) {
    EXPECT_EQ(t.first, to + (to == 7 ? 1 : 0) + (to == 8 ? 1 : 0)) << to;
    const double least = to * double(sizeof(payload)) + (to == 7 ? sizeof(int) : 0) +
                         (to == 8 ? sizeof(int) + sizeof(double) : 0);
    EXPECT_GE(t.second, least) << to;
    if (GetParam().ranks == 1) {
      EXPECT_LE(t.second, least + 4) << "padding of the letter";
    }
    messages += t.first;
    bytes += t.second;
  }
  EXPECT_EQ(ask<&talker::sums>(all[0]), (std::vector<double>{messages, bytes}));
  EXPECT_TRUE(ask<&talker::sent>(all[2]).empty());
  ask<&talker::reset>(all[0]);
  EXPECT_TRUE(ask<&talker::sent>(all[0]).empty());
  EXPECT_EQ(ask<&talker::sums>(all[0]), (std::vector<double>{0, 0}));
}

/// Records where the argument of a broadcast is.
struct reader : chare<reader> {
  void read(const std::vector<double>& values) { m_at = values.data(); }
  std::uint64_t place() { return reinterpret_cast<std::uint64_t>(m_at); }
  const double* m_at = nullptr;
};

TEST_P(load_counts, arguments_of_broadcasts_are_still_shared) {
  stay_in_place(rt, "broadcasts are copied for each migrated element");
  const auto all = create_array<reader>(rt, 3, on_worker_0());
  switch_loads(all, true);
  all.invoke<&reader::read>(std::vector<double>(100));
  rt.wait_idle();
  EXPECT_NE(ask<&reader::place>(all[0]), 0u);
  EXPECT_EQ(ask<&reader::place>(all[1]), ask<&reader::place>(all[0]));
  EXPECT_EQ(ask<&reader::place>(all[2]), ask<&reader::place>(all[0]));
}

/// Sends memory on a channel to the other one of two elements.
struct linked : chare<linked> {
  task<> meet() {
    chare_channel<double> link(*this, this_array()[1 - this_index()]);
    std::vector<double> mine(100, 1.0);
    std::vector<double> other(100);
    auto sent = link.send(mine);
    co_await link.receive(other);
    co_await std::move(sent);
  }
  std::vector<double> sums() {
    const load_measurement m = load_so_far();
    return {double(m.sent_messages), double(m.sent_bytes)};
  }
};

TEST_P(load_counts, memory_on_channels_is_counted) {
  const auto all = create_array<linked>(rt, 2, placement::round_robin);
  switch_loads(all, true);
  auto first = all[0].call<&linked::meet>();
  rt.sync_wait(all[1].call<&linked::meet>());
  rt.sync_wait(std::move(first));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask<&linked::sums>(all[i]), (std::vector<double>{1, 100.0 * sizeof(double)}));
}

TEST_P(load_counts, a_visit_reaches_each_element_of_the_worker_once) {
  constexpr int count = 7;
  const auto all = create_array<talker>(rt, count, placement::round_robin);
  switch_loads(all, true);
  for (int i = 0; i < count; ++i)
    for (int n = 0; n < i; ++n) all[i].invoke<&talker::hear>(payload());
  rt.wait_idle();
  for (int i = 0; i < count; ++i) {
    const std::vector<double> found = ask<&talker::visit>(all[i]);
    int times = 0;
    for (std::size_t at = 0; at < found.size(); at += 2) {
      if (int(found[at]) == i) ++times;
      EXPECT_GE(found[at + 1], found[at]) << "messages of " << found[at];
    }
    EXPECT_EQ(times, 1);
  }
}

TEST_P(load_counts, other_arrays_are_not_measured) {
  const auto all = create_array<talker>(rt, 3, placement::round_robin);
  const auto other = create_array<burner>(rt, 3, placement::round_robin);
  switch_loads(all, true);
  other.invoke<&burner::burn_later>(0.5);
  rt.wait_idle();
  EXPECT_FALSE(ask<&burner::has_record>(other[0]));
  EXPECT_EQ(ask<&burner::measured>(other[0]), 0);
}

// --- values that chares supply

struct modelled : chare<modelled> {
  double load() const { return 42; }
  std::array<double, 3> coordinates() const { return {1.0 * m_x, 2, 3}; }
  std::uint64_t state_bytes() const { return 1000; }
  std::uint64_t device_bytes() const { return 2000; }
  void put(int x) { m_x = x; }
  bool is_right(int x) {
    const load_measurement m = load_so_far();
    return m.is_modelled && m.host_seconds == 42 && m.has_position &&
           m.position == std::array<double, 3>{1.0 * x, 2, 3} && m.state_bytes == 1000 &&
           m.device_bytes == 2000;
  }
  int m_x = 0;
};

TEST_P(load_counts, a_chare_may_give_its_load_position_and_memory) {
  const auto all = create_array<modelled>(rt, 2, placement::round_robin);
  all[1].invoke<&modelled::put>(5);
  EXPECT_TRUE(ask<&modelled::is_right>(all[1], 5)) << "also while nothing is measured";
  switch_loads(all, true);
  EXPECT_TRUE(ask<&modelled::is_right>(all[1], 5));
  const auto plain = create_array<burner>(rt, 1, placement::round_robin);
  EXPECT_EQ(ask<&burner::measured>(plain[0]), 0);
}

// --- the end and the migration of elements

/// Ends its existence in several ways while its time is being charged.
struct passing : chare<passing> {
  void end() { this_element().destroy(); }
  task<> end_within() {
    this_element().destroy();
    co_await yield();  // the element is doomed now
    m_own += compute(0.2);
  }
  task<> wait_for_ever() {
    try {
      co_await when<&passing::never>();
    } catch (const operation_cancelled&) {
      m_own += compute(0.2);
    }
  }
  awaited never();
  double m_own = 0;
};

TEST_P(load_counts, elements_end_while_they_are_measured) {
  const auto all = create_array<passing>(rt, 9, placement::round_robin);
  switch_loads(all, true);
  for (int i = 0; i < 9; ++i) {
    all[i].invoke<&passing::wait_for_ever>();
    if (i % 3 == 0) all[i].invoke<&passing::end>();
    if (i % 3 == 1) all[i].invoke<&passing::end_within>();
    if (i % 3 == 2) all[i].destroy();
  }
  rt.wait_idle();
  all.measure_loads(false);
  rt.wait_idle();
}

class loads_of_migrants : public starling_test::measured_ranks {};
/// One rank: what was measured stays behind when an element moves to another rank.
INSTANTIATE_TEST_SUITE_P(on, loads_of_migrants, testing::Values(cluster{1, 2}, cluster{1, 3}),
                         starling_test::ranks_name);

TEST_P(loads_of_migrants, the_load_moves_with_the_element) {
  stay_in_place(rt, "names the workers of its elements");
  const auto all = create_array<burner>(rt, 3, placement::round_robin);
  switch_loads(all, true);
  const double begin = now();
  auto reading = all[0].call<&burner::read>(3);
  for (int step = 1; step <= 3; ++step) {
    all[0].invoke<&burner::letter>(4.0);
    all[0].invoke<&burner::burn>(2.0);
    all[0].invoke<&burner::go>(step % int(GetParam().workers));
    rt.wait_idle();
    EXPECT_EQ(ask<&burner::place>(all[0]), step % int(GetParam().workers));
  }
  rt.sync_wait(std::move(reading));
  const double own = ask<&burner::own>(all[0]);
  const double measured = ask<&burner::measured>(all[0]);
  EXPECT_GE(own, 18e-3);
  EXPECT_GE(measured, own * (1 - rate_error) - resolution);
  EXPECT_LE(measured, (now() - begin) * (1 + rate_error));
  EXPECT_EQ(ask<&burner::messages>(all[0]), 1 + 3 * 4 + 3);
  switch_loads(all, false);
  EXPECT_FALSE(ask<&burner::has_record>(all[0]));
}

}  // namespace
}  // namespace starling
