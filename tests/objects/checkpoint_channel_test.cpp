// SPDX-License-Identifier: Apache-2.0
// Checkpoints of elements whose channels are a part of their state.
#include <deque>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using numbers = std::vector<int>;

/// Sends numbers to its partner and keeps those that it receives.
struct speaker : chare<speaker> {
  speaker() : m_channel(*this, this_array()[1 - this_index()], 3) {}
  explicit speaker(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_channel, m_given, m_heard);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  task<> talk(int count) {
    for (int i = 0; i < count; ++i) {
      m_kept.push_back(100 * this_index() + m_given++);
      m_channel.post(std::span(&m_kept.back(), 1));
      int value = -1;
      co_await m_channel.receive(std::span(&value, 1));
      m_heard.push_back(value);
    }
  }
  numbers heard() const { return m_heard; }

 private:
  std::deque<int> m_kept;
  chare_channel<int> m_channel;
  int m_given = 0;
  numbers m_heard;
};

constexpr int each = 4;

/// Lets the elements talk, from the latest checkpoint on if it is a restart, and takes another one.
task<int> session(runtime& rt, std::string folder, std::string restart,
                  std::vector<numbers>* found) {
  auto saved = co_await checkpoints::open(rt, folder, {9, "", restart});
  const auto both = saved.create_array<speaker>("both", 2, placement::round_robin);
  co_await saved.load();
  for (int round = 0; round < 2; ++round) {
    for (const int i : {0, 1}) both[i].invoke<&speaker::talk>(each);
    co_await quiescence();
    both[1].invoke<&speaker::go>(0);
    co_await quiescence();
  }
  for (const int i : {0, 1}) found->push_back(co_await both[i].call<&speaker::heard>());
  auto written = co_await saved.take(restart.empty() ? 1 : 2);
  co_await std::move(written);
  co_return 0;
}

TEST(checkpoints_of_channels, connect_the_ends_again_on_other_ranks) {
  for (const auto& [first, second] : {std::pair(cluster{1, 2}, cluster{2, 1}),
                                      {cluster{2, 1}, cluster{1, 1}},
                                      {cluster{3, 1}, cluster{2, 2}}}) {
    const starling_test::scratch_folder scratch;
    const auto run = [&](const cluster& on, const std::string& restart) {
      std::vector<numbers> found;
      on.expect(0, [&](runtime& rt) { return session(rt, scratch.path(), restart, &found); });
      return found;
    };
    numbers all(2 * each);
    for (const char* restart : {"", "latest"}) {
      const auto found = run(*restart == '\0' ? first : second, restart);
      ASSERT_EQ(found.size(), 2u);
      for (const std::size_t i : {0u, 1u}) {
        std::iota(all.begin(), all.end(), i == 0 ? 100 : 0);
        EXPECT_EQ(found[i], all) << restart << " element " << i;
      }
      all.resize(4 * each);
    }
  }
}

}  // namespace
}  // namespace starling
