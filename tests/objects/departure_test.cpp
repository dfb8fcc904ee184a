// SPDX-License-Identifier: Apache-2.0
// When an element departs that has called migrate_to: in calls of load_balance() that are skipped,
// and with a destination that is chosen while it departs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::stay_in_place;

class departures : public starling_test::on_ranks {
 protected:
  void SetUp() override {
    on_ranks::SetUp();
    stay_in_place(rt, "the elements choose their workers");
  }
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, departures,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}),
                         starling_test::ranks_name);

/// Goes to the next worker in each step, and records the workers.
struct pilgrim : chare<pilgrim> {
  pilgrim() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_step, m_path, m_end);
  }
  double load() const { return 1.0; }
  void begin(callback<std::vector<int>> end) {
    m_end = std::move(end);
    this_element().template invoke<&pilgrim::run>();
  }
  task<> run() {
    while (m_step < 5) {
      ++m_step;
      migrate_to((this_worker() + 1) % total_worker_count(*runtime::current()));
      co_await load_balance();
      m_path.push_back(int(this_worker()));
    }
    m_end.deliver(std::vector<int>(m_path));
  }
  task<> resumed() {
    m_path.push_back(int(this_worker()));
    return run();
  }

 private:
  int m_step = 0;
  std::vector<int> m_path;
  callback<std::vector<int>> m_end;
};

TEST_P(departures, take_place_in_skipped_calls_of_load_balance) {
  const auto all = create_array<pilgrim>(rt, 1, placement::block);
  all.balance_by(balance::make_balancer("none"), 1000);
  auto [end, path] = make_reply<std::vector<int>>();
  all[0].invoke<&pilgrim::begin>(end);
  std::vector<int> expected;
  for (int step = 1; step <= 5; ++step) expected.push_back(step % workers());
  EXPECT_EQ(rt.sync_wait(std::move(path)), expected);
}

/// Chooses another destination while it departs.
struct doubter : chare<doubter> {
  doubter() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_second);
  }
  void go(int first, int second) {
    m_second = second;
    migrate_to(std::size_t(first));
  }
  void before_migration() {
    if (m_second >= 0) migrate_to(std::size_t(std::exchange(m_second, -1)));
  }
  int place() { return int(this_worker()); }

 private:
  int m_second = -1;
};

TEST_P(departures, lead_to_the_last_destination) {
  const auto all = create_array<doubter>(rt, 1, placement::block);
  rt.sync_wait([](element<doubter> e, int workers) -> task<> {
    for (int first = 0; first < workers; ++first)
      for (int second = 0; second < workers; ++second) {
        e.invoke<&doubter::go>(0, -1);
        co_await quiescence();
        e.invoke<&doubter::go>(first, second);
        co_await quiescence();
        // The element does not depart to the worker that has it.
        EXPECT_EQ(co_await e.call<&doubter::place>(), first == 0 ? 0 : second)
            << "first to " << first << ", then to " << second;
      }
  }(all[0], workers()));
}

/// Goes to ranks by their numbers.
struct envoy : chare<envoy> {
  envoy() = default;
  template <class Archive>
  void serialize(Archive&) {}
  void go(int to) { migrate_to(rank(to)); }
  std::pair<int, int> place() { return {this_rank().number, int(this_worker())}; }
};

TEST_P(departures, lead_to_a_rank_and_the_worker_there_with_the_same_place) {
  const auto all = create_array<envoy>(rt, workers(), placement::block);
  rt.sync_wait([](chare_array<envoy> all, int workers) -> task<> {
    const int ranks = rank_count(), of_each = workers / ranks;
    for (int to = 0; to < ranks; ++to)
      for (int i = 0; i < workers; ++i) {
        const auto from = co_await all[i].call<&envoy::place>();
        all[i].invoke<&envoy::go>(to);
        co_await quiescence();
        const std::pair expected(to, to * of_each + from.second % of_each);
        EXPECT_EQ((co_await all[i].call<&envoy::place>()), expected) << i << " to " << to;
      }
  }(all, workers()));
}

TEST_P(departures, to_a_rank_that_does_not_exist_are_refused) {
  const auto all = create_array<envoy>(rt, 1, placement::block);
  rt.sync_wait([](chare_array<envoy> all) -> task<> {
    for (const int wrong : {-1, rank_count()}) {
      std::string text;
      try {
        co_await all[0].call<&envoy::go>(wrong);
      } catch (const usage_error& e) {
        text = e.what();
      }
      EXPECT_NE(text.find("there is no rank " + std::to_string(wrong)), std::string::npos) << text;
    }
  }(all));
}

}  // namespace
}  // namespace starling
