// SPDX-License-Identifier: Apache-2.0
// Groups on the host; one source of a program serves all kinds of groups.
#include "group_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using groups = resident::system<grouped_program>;

class resident_groups : public on_machine {};

TEST_P(resident_groups, work_together_on_the_data_of_an_element) {
  run([](runtime& rt, resident::options o) -> task<void> {
    groups program(rt, o);
    const auto all = program.create<grouped>(5);
    const auto sum = program.make_host_mailbox<std::uint64_t>();
    co_await program.start();
    std::uint32_t times = 0;
    for (const std::uint32_t n : {0u, 1u, 31u, 33u, 100u, 1000u}) {
      ++times;
      co_await program.invoke(all[3], entry<&grouped<groups::context>::sum>, n, times, sum);
      const std::uint64_t m = n;
      EXPECT_EQ(co_await program.receive(sum), m == 0 ? 0 : (m - 1) * m * (2 * m - 1) / 6);
    }
  });
}

TEST_P(resident_groups, give_each_thread_its_position) {
  run([](runtime& rt, resident::options o) -> task<void> {
    if (o.threads == 3) o.threads = 5;
    groups program(rt, o);
    const auto all = program.create<grouped>(3);
    const auto wrong = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&grouped<groups::context>::compact>, 20u, wrong);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await program.receive(wrong), 0u);
  });
}

TEST_P(resident_groups, forward_data_of_a_message) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    groups program(rt, o);
    const auto all = program.create<grouped>(7);
    const auto right = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (const std::uint32_t n : {0u, 1u, 31u, 40u, 56u, 57u, 300u}) {
      co_await program.invoke(all[2], entry<&grouped<groups::context>::begin_relay>, n, 15u, right);
      EXPECT_EQ(co_await program.receive(right), n);
    }
  });
}

TEST_P(resident_groups, read_data_that_caches_were_asked_to_keep) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    groups program(rt, o);
    const auto all = program.create<grouped>(3);
    const auto right = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (const std::uint32_t n : {1u, 33u, 1000u}) {
      co_await program.invoke(all[1], entry<&grouped<groups::context>::keep>, n, right);
      EXPECT_EQ(co_await program.receive(right), 2 * n);
    }
  });
}

TEST_P(resident_groups, add_up_repeatedly) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    groups program(rt, o);
    const auto all = program.create<grouped>(3);
    const auto wrong = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    const auto sums = times(o, 50, 10);
    co_await program.broadcast(all, entry<&grouped<groups::context>::many_sums>, sums, wrong);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await program.receive(wrong), 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_groups, all_machines, name_of_machine);

}  // namespace
}  // namespace starling_test
