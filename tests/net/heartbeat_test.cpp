// SPDX-License-Identifier: Apache-2.0
// The authentication code of heartbeats, which distinguishes datagrams of ranks from foreign ones.
// tests/distributed covers stopped ranks, as a thread cannot be stopped.
#include <gtest/gtest.h>

#include "net/heartbeat/heartbeat.hpp"
#include "net/ranks.hpp"

namespace starling::detail {
namespace {

TEST(siphash_of_words, gives_the_reference_values) {
  const siphash_key key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  EXPECT_EQ(siphash(key, {}), 0x726fdb47dd0e0e31u);
  const std::uint64_t word[] = {0x0706050403020100u};
  EXPECT_EQ(siphash(key, word), 0x93f5f5799a932462u);
}

TEST(beat_sockets, carry_datagrams_of_one_size_in_order) {
  const beat_socket a(beat_socket::reach::host), b(beat_socket::reach::host);
  const auto to_b = beat_socket::parse(b.address());
  ASSERT_TRUE(to_b);
  const std::array<std::byte, 3> small{std::byte{1}}, other{std::byte{2}};
  const std::array<std::byte, 9> large{};
  a.send(*to_b, small);
  a.send(*to_b, large);
  a.send(*to_b, other);
  std::array<std::byte, 3> got{};
  EXPECT_TRUE(b.receive(got));
  EXPECT_EQ(got, small);
  EXPECT_TRUE(b.receive(got));
  EXPECT_EQ(got, other);
  EXPECT_FALSE(b.receive(got));
}

TEST(beat_sockets, of_the_network_are_of_one_address) {
  const beat_socket a(beat_socket::reach::network);
  if (a.descriptor() < 0) GTEST_SKIP() << "this host has no address but its own";
  const beat_socket b(beat_socket::reach::network);
  const std::array<std::byte, 3> sent{std::byte{7}};
  b.send(*beat_socket::parse(a.address()), sent);
  std::array<std::byte, 3> got{};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!a.receive(got) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(got, sent) << "nothing comes from this host's own address: is UDP held back here?";
}

TEST(beat_sockets, refuse_texts_that_are_no_address) {
  EXPECT_FALSE(beat_socket::parse("-"));
  EXPECT_FALSE(beat_socket::parse(std::string(1000, '0')));
}

TEST(heartbeats, begin_and_end_without_a_failed_rank) {
  constexpr int ranks = 5;
  std::atomic<int> missed{0};
  starling_test::thread_group group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      starling_test::thread_bootstrap boot(group, r, ranks);
      const std::vector<bool> near(ranks, true);
      // No heartbeat is due while the test runs.
      heartbeat h(boot, near, std::chrono::seconds(r == 2 ? 0 : 60), [&](int, auto) { ++missed; });
      h.start();
      static_cast<void>(boot.all_gather("all have begun"));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace starling::detail
