// SPDX-License-Identifier: Apache-2.0
// The order of urgent messages, and of ordinary ones beside them, to elements that migrate between
// ranks.
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::over_ucx;

class urgent_order : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
};
INSTANTIATE_TEST_SUITE_P(on, urgent_order,
                         testing::Values(cluster{1, 2}, cluster{1, 4}, cluster{2, 1}, cluster{2, 2},
                                         cluster{3, 1}, over_ucx({2, 2})),
                         starling_test::ranks_name);

constexpr int listeners = 6;

/// The numbers of messages by their sender.
using numbers = std::map<int, std::vector<int>>;

/// Keeps the numbers of its messages, and migrates after every few of them.
struct listener : chare<listener> {
  listener() = default;
  explicit listener(migrated) { ++m_arrivals; }
  template <class Archive>
  void serialize(Archive& ar) {
    int arrivals = m_arrivals;
    ar(m_urgent, m_ordinary, arrivals);
    if constexpr (Archive::is_reading) m_arrivals += arrivals;
  }
  void hear_urgent(int from, int n) { note(m_urgent, from, n); }
  void hear(int from, int n) { note(m_ordinary, from, n); }
  numbers urgent() const { return m_urgent; }
  numbers ordinary() const { return m_ordinary; }
  int arrivals() const { return m_arrivals; }

 private:
  void note(numbers& kept, int from, int n) {
    kept[from].push_back(n);
    if ((n + from) % 5 == 0)
      migrate_to(std::size_t(this_index() + n / 5 + from) %
                 total_worker_count(*runtime::current()));
  }
  numbers m_urgent, m_ordinary;
  int m_arrivals = 0;
};

/// The members of the section.
constexpr bool is_in_section(int i) { return i == 0 || i == 3; }

/// Sends messages of both priorities to single elements and to all, and ordinary ones to a section
/// in between. All messages of one call come from one worker.
struct speaker : chare<speaker> {
  void say(const chare_array<listener>& to, const section<listener>& some, int name, int count) {
    for (int n = 0; n < count; ++n) {
      say_to<&listener::hear_urgent>(to.urgent(), name, n);
      if (n % 7 == 3)
        some.invoke<&listener::hear>(name, n);
      else
        say_to<&listener::hear>(to, name, n);
    }
  }

 private:
  template <auto Entry>
  static void say_to(const chare_array<listener>& to, int name, int n) {
    if (n % 5 == 0) return to.invoke<Entry>(name, n);
    for (int i = 0; i < listeners; ++i) to[i].invoke<Entry>(name, n);
  }
};

/// Returns what a listener must have heard from each of the speakers.
numbers expected_from(int speakers, int count, bool without_section) {
  numbers all;
  for (int s = 0; s < speakers; ++s)
    for (int n = 0; n < count; ++n)
      if (n % 7 != 3 || !without_section) all[s].push_back(n);
  return all;
}

TEST_P(urgent_order, is_kept_for_each_sender_while_the_receivers_migrate) {
  int arrivals = 0;
  for (int round = 0; round < many(5, 2); ++round) {
    const auto all = create_array<listener>(rt, listeners, placement::round_robin);
    const auto speakers = create_group<speaker>(rt);
    const int count = many(80, 30);
    arrivals += rt.sync_wait([](chare_array<listener> all, chare_array<speaker> from, int speakers,
                                int count) -> task<int> {
      const std::vector<int> members{0, 3};
      const auto some = make_section(all, members);
      for (int s = 0; s < speakers; ++s) from[s].invoke<&speaker::say>(all, some, s, count);
      co_await quiescence();
      int arrivals = 0;
      for (int i = 0; i < listeners; ++i) {
        const numbers urgent = expected_from(speakers, count, false);
        const numbers ordinary = expected_from(speakers, count, !is_in_section(i));
        EXPECT_EQ(co_await all[i].call<&listener::urgent>(), urgent) << "listener " << i;
        EXPECT_EQ(co_await all[i].call<&listener::ordinary>(), ordinary) << "listener " << i;
        arrivals += co_await all[i].call<&listener::arrivals>();
      }
      co_return arrivals;
    }(all, speakers, workers(), count));
  }
  EXPECT_EQ(arrivals > 0, GetParam().ranks > 1) << "on other ranks";
}

TEST_P(urgent_order, is_kept_by_a_thread_that_is_no_worker) {
  const auto all = create_array<listener>(rt, listeners, placement::round_robin);
  const int count = many(200, 40);
  for (int n = 0; n < count; ++n)
    for (int i = 0; i < listeners; ++i) {
      all.urgent()[i].invoke<&listener::hear_urgent>(0, n);
      all[i].invoke<&listener::hear>(0, n);
    }
  rt.wait_idle();
  numbers expected;
  expected[0].resize(std::size_t(count));
  std::iota(expected[0].begin(), expected[0].end(), 0);
  for (int i = 0; i < listeners; ++i) {
    EXPECT_EQ(rt.sync_wait(all[i].call<&listener::urgent>()), expected) << "listener " << i;
    EXPECT_EQ(rt.sync_wait(all[i].call<&listener::ordinary>()), expected) << "listener " << i;
  }
}

}  // namespace
}  // namespace starling
