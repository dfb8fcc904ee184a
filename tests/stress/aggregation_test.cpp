// SPDX-License-Identifier: Apache-2.0
// Tasks that commit, cancel and fail at random through one aggregator: each task gets its own
// outcome, and the outcome matches the effect on the task's number.
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include <starling/device.hpp>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_stress;

struct add_or_fail {
  static constexpr const char* name = "add_or_fail";
  std::uint64_t* a;
  std::uint64_t term;
  bool fails;
  void operator()(index3 i) const {
    if (fails) throw std::runtime_error("as planned");
    a[i.x] += term;
  }
};

enum class end { added, failed, cancelled };

task<end> outcome_of(sequence& s, std::stop_token stop) {
  try {
    co_await s.completion(std::move(stop));
  } catch (const device_error&) {
    co_return end::failed;
  } catch (const operation_cancelled&) {
    co_return end::cancelled;
  }
  co_return end::added;
}

task<void> stop_later(std::stop_source stop, int yields) {
  for (int i = 0; i < yields; ++i) co_await yield();
  stop.request_stop();
}

/// Tries to add to one number a hundred times. Returns the number's expected value.
task<std::uint64_t> work(aggregator& gathered, std::uint64_t* a, std::uint64_t seed) {
  random_source random(seed);
  std::uint64_t expected = 0;
  for (int i = 0; i < 100; ++i) {
    const bool fails = random.below(20) == 0;
    sequence s = gathered.begin(random.below(5) == 0 ? priority::high : priority::normal);
    const int points = 1 + random.below(3);
    s.submit(range{points}, add_or_fail{a, 1, fails});
    s.submit(range{1}, add_or_fail{a, 100, false});
    std::stop_source stop;
    if (random.below(4) == 0) post(stop_later(stop, random.below(4)));
    const end what = co_await outcome_of(s, stop.get_token());
    EXPECT_EQ(what == end::failed, fails && what != end::cancelled);
    if (what == end::added) expected += 101;
  }
  co_return expected;
}

task<void> work_all(aggregator& gathered, std::uint64_t seed) {
  constexpr std::size_t tasks = 64;
  std::vector<std::uint64_t> a(3 * tasks, 0);
  std::vector<future<std::uint64_t>> started;
  for (std::size_t i = 0; i < tasks; ++i)
    started.push_back(spawn(work(gathered, &a[3 * i], seed * tasks + i)));
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::uint64_t expected = co_await std::move(started[i]);
    EXPECT_EQ(a[3 * i], expected) << "task " << i << ", seed " << seed;
  }
}

TEST(aggregation_under_stress, reports_the_result_of_its_work_to_every_task) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds(8); ++seed) {
    runtime_options options = options_for(seed);
    options.extra["backend"] = "host";
    runtime rt(options);
    aggregator gathered(devices(rt).device(0),
                        {.most = 1 + seed % 16, .streams = 1 + seed % 3, .depth = 1 + seed % 2});
    rt.sync_wait(work_all(gathered, seed));
    const aggregation_statistics counts = gathered.statistics();
    EXPECT_EQ(counts.submissions + counts.withdrawn, 6400u);
    EXPECT_GT(counts.submissions, 3200u);
  }
}

}  // namespace
