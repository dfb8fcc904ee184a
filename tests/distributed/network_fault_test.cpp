// SPDX-License-Identifier: Apache-2.0
// Ranks on separate hosts whose network fails: each rank reports which rank it has lost, and
// nothing hangs.
#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "fault_kit.hpp"
#include "network_kit.hpp"

namespace {

using distributed::no_network;
using distributed::outcome;
using distributed::small_network;
using distributed::stray_ranks;

constexpr int ranks = 3;
constexpr int victim = 1;

distributed::variables over_tcp(const char* heartbeat) {
  return {{"UCX_TLS", "tcp"}, {"UCX_NET_DEVICES", "eth0"}, {"STARLING_HEARTBEAT", heartbeat}};
}

#define SKIP_WITHOUT(deed)          \
  try {                             \
    deed;                           \
  } catch (const no_network& why) { \
    GTEST_SKIP() << why.what();     \
  }

class separate_hosts : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT(m_network.emplace(ranks)); }
  [[nodiscard]] const small_network& network() const { return *m_network; }

  void start(const std::string& scene, const char* heartbeat) {
    m_ranks.emplace(FAULT_PROGRAM, ranks, scene, over_tcp(heartbeat),
                    [this](int rank) { return network()[rank].within(); });
    if (!(*m_ranks)[victim].wait_for("here", 1)) {
      std::string said;
      for (int rank = 0; rank < ranks; ++rank) {
        const outcome end = all()[rank].finish();
        if (end.code == 77) GTEST_SKIP() << end.output;
        said += "rank " + std::to_string(rank) + ": " + end.output + end.errors + "\n";
      }
      FAIL() << said;
    }
  }
  [[nodiscard]] stray_ranks& all() { return *m_ranks; }

  /// Exit codes of a rank: it has lost the victim, or a different rank.
  static constexpr int has_lost_victim = 10, has_lost_another = 13;
  void expect_reported(int rank, int code) {
    const outcome end = all()[rank].finish();
    EXPECT_EQ(end.code, code) << "rank " << rank << ", signal " << end.signal << "\n"
                              << end.output << end.errors;
    EXPECT_CONTAINS(end.output, "its last sign of life was ");
    EXPECT_CONTAINS(end.output, code == has_lost_victim ? " on host-1) " : " on host-");
  }
  void expect_all_well() {
    for (int rank = 0; rank < ranks; ++rank) {
      const outcome end = all()[rank].finish();
      EXPECT_EQ(end.code, 0) << "rank " << rank << "\n" << end.output << end.errors;
    }
  }

 private:
  std::optional<small_network> m_network;
  std::optional<stray_ranks> m_ranks;
};

TEST_F(separate_hosts, run_one_job) {
  const starling_test::scratch_folder folder;
  std::string choose = "case $STARLING_LAUNCH_RANK in ";
  for (int rank = 0; rank < ranks; ++rank) {
    choose += std::to_string(rank) + ") exec";
    for (const std::string& word : network()[rank].within()) choose += " " + word;
    choose += std::string(" ") + FAULT_PROGRAM + " " + folder.path() + " -1 3 working;; ";
  }
  const outcome end = distributed::run(
      {STARLING_COMMAND, "launch", "-n", "3", "sh", "-c", choose + "esac"}, over_tcp("0.5"));
  if (end.code == 77) GTEST_SKIP() << end.output;
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_CONTAINS(end.output, "the sum of all ranks is 3\n");
}

struct fault {
  const char* name;
  void (small_network::*strike)(int host) const;
};
class a_host : public separate_hosts,
               public testing::WithParamInterface<std::tuple<const char*, fault>> {};

TEST_P(a_host, that_is_cut_off_is_named_by_the_remaining_hosts) {
  const auto [scene, how] = GetParam();
  ASSERT_NO_FATAL_FAILURE(start(scene, "0.5"));
  if (IsSkipped()) return;
  (network().*how.strike)(victim);
  expect_reported(0, has_lost_victim);
  expect_reported(2, has_lost_victim);
  expect_reported(victim, has_lost_another);
}
INSTANTIATE_TEST_SUITE_P(
    of_three, a_host,
    testing::Combine(testing::Values("resting", "hopping", "exchanging"),
                     testing::Values(fault{"without_cable", &small_network::pull_cable},
                                     fault{"without_card", &small_network::switch_off_card},
                                     fault{"without_a_word", &small_network::swallow})),
    [](const auto& i) {
      return std::string(std::get<0>(i.param)) + "_" + std::get<1>(i.param).name;
    });

class a_connection : public separate_hosts, public testing::WithParamInterface<const char*> {};

TEST_P(a_connection, that_is_reset_ends_the_job) {
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), "1"));
  if (IsSkipped()) return;
  SKIP_WITHOUT(network().reset_connections(victim, 0));
  expect_reported(0, has_lost_victim);
  expect_reported(victim, has_lost_another);
  // Either end of the connection may be the first to report its peer.
  const outcome end = all()[2].finish();
  EXPECT_TRUE(end.code == has_lost_victim || end.code == has_lost_another) << end.code;
  EXPECT_CONTAINS(end.output, " has gone: ");
}
INSTANTIATE_TEST_SUITE_P(while_, a_connection, testing::Values("resting", "hopping", "exchanging"),
                         [](const auto& i) { return std::string(i.param); });

class a_network : public separate_hosts, public testing::WithParamInterface<const char*> {};

TEST_P(a_network, that_is_slow_for_a_while_is_waited_for) {
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), "0.5"));
  if (IsSkipped()) return;
  SKIP_WITHOUT(network().slow_down(victim, "4mbit"));
  ::sleep(3);  // longer than the longest tolerated silence
  network().let_go_on(victim);
  all().let_ranks_finish();
  expect_all_well();
}

TEST_P(a_network, that_is_interrupted_for_a_moment_is_waited_for) {
  ASSERT_NO_FATAL_FAILURE(start(GetParam(), "1"));
  if (IsSkipped()) return;
  network().pull_cable(victim);
  // The outage lasts an eighth of the longest tolerated silence, since hosts need 1 or 2 s more to
  // resolve each other's addresses again (ARP).
  ::usleep(500'000);
  network().put_cable_back(victim);
  all().let_ranks_finish();
  expect_all_well();
}
INSTANTIATE_TEST_SUITE_P(while_, a_network, testing::Values("hopping", "working"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
