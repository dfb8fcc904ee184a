// SPDX-License-Identifier: Apache-2.0
// Measured loads of elements: the time that is charged to each of them.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "load_support.hpp"

namespace starling {
namespace {

using starling_test::burner;
using starling_test::compute;
using starling_test::in_process;
using starling_test::now;
using starling_test::on_worker_0;
using starling_test::rate_error;
using starling_test::resolution;
using starling_test::stay_in_place;

class loads : public starling_test::measured_ranks {};
INSTANTIATE_TEST_SUITE_P(on, loads, starling_test::some_ranks, starling_test::ranks_name);

TEST_P(loads, time_is_charged_to_the_element_that_computes) {
  constexpr int count = 8;
  const auto all = create_array<burner>(rt, count, placement::round_robin);
  switch_loads(all, true);
  const double begin = now();
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < count; ++i) all[i].invoke<&burner::burn>(i == 3 ? 5.0 : 0.5);
  rt.wait_idle();
  double own_of_others = 0;
  double sum = 0;
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    const double own = ask<&burner::own>(all[i]);
    const double measured = ask<&burner::measured>(all[i]);
    EXPECT_GE(measured, own * (1 - rate_error) - resolution) << i;
    if (i != 3) own_of_others += own;
    if (i == 3) largest = measured;
    sum += measured;
  }
  const double elapsed = now() - begin;
  const int workers = GetParam().ranks * int(GetParam().workers);
  EXPECT_LE(sum, elapsed * workers * (1 + rate_error));
  // On one worker the largest load cannot contain the time of the other elements.
  if (workers == 1) {
    EXPECT_LE(largest, (elapsed - own_of_others) * (1 + rate_error));
  }
}

TEST_P(loads, broadcasts_are_charged_to_each_element) {
  constexpr int count = 6;
  const auto all = create_array<burner>(rt, count, placement::round_robin);
  switch_loads(all, true);
  const double begin = now();
  all.invoke<&burner::burn>(2.0);
  all.invoke<&burner::burn_later>(1.0);
  rt.wait_idle();
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const double own = ask<&burner::own>(all[i]);
    EXPECT_GE(ask<&burner::measured>(all[i]), own * (1 - rate_error) - resolution) << i;
    sum += ask<&burner::measured>(all[i]);
    EXPECT_EQ(ask<&burner::messages>(all[i]), 2 + 4) << "two broadcasts and the calls above";
  }
  EXPECT_LE(sum, (now() - begin) * GetParam().ranks * GetParam().workers * (1 + rate_error));
}

TEST_P(loads, a_suspended_coroutine_is_charged_nothing) {
  stay_in_place(rt, "compares times of elements on one worker");
  const auto all = create_array<burner>(rt, 2, on_worker_0());
  switch_loads(all, true);
  const double begin = now();
  auto reading = all[0].call<&burner::read>(2);
  all[1].invoke<&burner::burn>(20.0);
  all[0].invoke<&burner::letter>(1.0);
  all[1].invoke<&burner::burn>(20.0);
  all[0].invoke<&burner::letter>(1.0);
  rt.sync_wait(std::move(reading));
  rt.wait_idle();
  const double own = ask<&burner::own>(all[0]);
  const double beside = ask<&burner::own>(all[1]);
  const double measured = ask<&burner::measured>(all[0]);
  EXPECT_GE(measured, own * (1 - rate_error) - resolution);
  EXPECT_LE(measured, (now() - begin - beside) * (1 + rate_error)) << "they share a worker";
}

TEST_P(loads, idle_time_is_charged_to_no_element) {
  const auto all = create_array<burner>(rt, 1, placement::round_robin);
  switch_loads(all, true);
  const double begin = now();
  all[0].invoke<&burner::burn_later>(0.5);
  rt.wait_idle();
  const double idle = compute(20.0);
  const double measured = ask<&burner::measured>(all[0]);
  EXPECT_GE(measured, ask<&burner::own>(all[0]) * (1 - rate_error) - resolution);
  EXPECT_LE(measured, (now() - begin - idle) * (1 + rate_error) + resolution);
}

TEST_P(loads, coroutines_that_one_message_resumes_are_charged_to_their_elements) {
  stay_in_place(rt, "compares times of elements on one worker");
  constexpr int count = 5;
  const auto all = create_array<burner>(rt, count, on_worker_0());
  switch_loads(all, true);
  const double begin = now();
  std::vector<future<>> met;
  for (int i = 0; i < count; ++i) met.push_back(all[i].call<&burner::meet>(3, i == 2 ? 8.0 : 1.0));
  for (future<>& f : met) rt.sync_wait(std::move(f));
  std::vector<double> own, measured;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    own.push_back(ask<&burner::own>(all[i]));
    measured.push_back(ask<&burner::measured>(all[i]));
    EXPECT_GE(measured.back(), own.back() * (1 - rate_error) - resolution) << i;
    sum += measured.back();
  }
  EXPECT_LE(sum, (now() - begin) * (1 + rate_error));
}

TEST_P(loads, tasks_of_spawn_and_their_children_are_charged_to_the_element) {
  stay_in_place(rt, "compares times of elements on one worker");
  const auto all = create_array<burner>(rt, 2, on_worker_0());
  switch_loads(all, true);
  const double begin = now();
  rt.sync_wait(all[0].call<&burner::spawn_one>(3.0));
  all[1].invoke<&burner::leave_one>(3.0);
  rt.wait_idle();
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    const double own = ask<&burner::own>(all[i]);
    EXPECT_GE(own, 9e-3);
    EXPECT_GE(ask<&burner::measured>(all[i]), own * (1 - rate_error) - resolution) << i;
    sum += ask<&burner::measured>(all[i]);
  }
  EXPECT_LE(sum, (now() - begin) * (1 + rate_error));
}

TEST_P(loads, coroutines_that_began_earlier_are_charged_when_they_resume) {
  stay_in_place(rt, "a load is lost on a worker where the measurement has not begun yet");
  const auto all = create_array<burner>(rt, 1, placement::round_robin);
  auto reading = all[0].call<&burner::read>(1);
  ask<&burner::own>(all[0]);
  all.measure_loads(true);
  all[0].invoke<&burner::letter>(3.0);
  rt.sync_wait(std::move(reading));
  EXPECT_GE(ask<&burner::measured>(all[0]), ask<&burner::own>(all[0]) * (1 - rate_error));
}

TEST_P(loads, nothing_is_measured_or_allocated_before_and_after) {
  const auto all = create_array<burner>(rt, 3, placement::round_robin);
  all.invoke<&burner::burn>(0.1);
  rt.wait_idle();
  EXPECT_FALSE(ask<&burner::has_record>(all[1]));
  EXPECT_FALSE(ask<&burner::has_meter>(all[1]));
  EXPECT_EQ(ask<&burner::measured>(all[1]), 0);
  for (int round = 0; round < 2; ++round) {
    switch_loads(all, true);
    switch_loads(all, true);
    EXPECT_TRUE(ask<&burner::has_record>(all[1]));
    EXPECT_TRUE(ask<&burner::is_metered>(all[1]));
    switch_loads(all, false);
    EXPECT_FALSE(ask<&burner::has_record>(all[1]));
    EXPECT_FALSE(ask<&burner::is_metered>(all[1]));
  }
}

TEST_P(loads, a_reset_begins_anew_also_for_the_running_element) {
  const auto all = create_array<burner>(rt, 1, placement::round_robin);
  switch_loads(all, true);
  all[0].invoke<&burner::burn>(20.0);
  rt.wait_idle();
  EXPECT_GE(ask<&burner::measured>(all[0]), 0.02 * (1 - rate_error));
  const double at = ask<&burner::reset_behind>(all[0], 20.0);
  const double measured = ask<&burner::measured>(all[0]);
  EXPECT_LE(measured, (now() - at) * (1 + rate_error) + resolution);
  EXPECT_EQ(ask<&burner::messages>(all[0]), 2) << "this call and the one before";
}

// --- control that passes between elements without a message

/// Elements of one worker: `give` lets a task compute, whose result another element awaits.
struct giver : chare<giver> {
  void give(in_process<std::unique_ptr<future<double>>> to, double ms) {
    *to.it = std::make_unique<future<double>>(spawn(slowly(ms)));
  }
  task<double> take(in_process<std::unique_ptr<future<double>>> from, double ms) {
    m_other = co_await std::move(**from.it);
    m_own += compute(ms);
    co_return m_other;
  }
  double own() { return m_own; }
  double measured() { return load_so_far().host_seconds; }

 private:
  task<double> slowly(double ms) {
    co_await yield();
    const double took = compute(ms);
    m_own += took;
    co_return took;
  }
  double m_own = 0;
  double m_other = 0;
};

TEST_P(loads, a_transfer_of_control_changes_the_account) {
  stay_in_place(rt, "compares times of elements on one worker");
  std::unique_ptr<future<double>> between;
  const auto all = create_array<giver>(rt, 2, on_worker_0());
  switch_loads(all, true);
  const double begin = now();
  const in_process<std::unique_ptr<future<double>>> shared{&between};
  all[0].invoke<&giver::give>(shared, 5.0);
  ask<&giver::take>(all[1], shared, 15.0);
  std::array<double, 2> own{}, measured{};
  for (int i = 0; i < 2; ++i) {
    own[std::size_t(i)] = ask<&giver::own>(all[i]);
    measured[std::size_t(i)] = ask<&giver::measured>(all[i]);
    EXPECT_GE(measured[std::size_t(i)], own[std::size_t(i)] * (1 - rate_error) - resolution) << i;
  }
  const double elapsed = now() - begin;
  EXPECT_LE(measured[0], (elapsed - own[1]) * (1 + rate_error));
  EXPECT_LE(measured[1], (elapsed - own[0]) * (1 + rate_error));
}

}  // namespace
}  // namespace starling
