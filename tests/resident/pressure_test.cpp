// SPDX-License-Identifier: Apache-2.0
// More messages than there is room for, and events that must not be lost meanwhile.
#include "pressure_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using crowds = resident::system<crowd_program>;
using host_crowd = crowd<crowds::context>;

class resident_pressure : public on_machine {};

TEST_P(resident_pressure, of_simultaneous_messages_of_all_elements_is_relieved) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const auto n = times(o, 700, 100);
    crowds program(rt, o);
    const auto all = program.create<crowd>(n);
    const auto got = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    std::uint32_t expected = 0;
    for (const std::uint32_t step : {0u, 1u, n / 2}) {
      co_await program.broadcast(all, entry<&host_crowd::send_small>, step, 3u);
      co_await program.broadcast(all, entry<&host_crowd::send_spans>, step, 1u);
      expected += 4 * n;
    }
    co_await program.quiescence();
    co_await program.broadcast(all, entry<&host_crowd::tell>, got);
    EXPECT_EQ(co_await program.receive(got), expected);
  });
}

TEST_P(resident_pressure, of_messages_to_the_host_waits_for_the_host) {
  run([](runtime& rt, resident::options o) -> task<void> {
    o.stall_seconds = 0.02;
    const std::uint32_t times = 450;  // more than the link holds
    crowds program(rt, o);
    const auto all = program.create<crowd>(1);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[0], entry<&host_crowd::tell_often>, times, told);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < until) {  // keeps the host busy
    }
    for (std::uint32_t i = 0; i < times; ++i) EXPECT_EQ(co_await program.receive(told), i);
    co_await program.quiescence();
  });
}

TEST_P(resident_pressure, does_not_lose_messages_to_the_host_sent_before_a_stop) {
  run([](runtime& rt, resident::options o) -> task<void> {
    crowds program(rt, o);
    const auto all = program.create<crowd>(3);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[2], entry<&host_crowd::tell_and_stop>, told);
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(co_await program.receive(told), i);
    static_cast<void>(co_await program.ended());
  });
}

TEST_P(resident_pressure, of_early_spans_leaves_blocks_for_spans_in_turn) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using halos = resident::system<long_halo_program>;
    using host = long_halo<halos::context>;
    const std::uint32_t n = 24;
    const auto iterations = times(o, 60, 10);
    o.blocks = 2;
    halos program(rt, o);
    const auto all = program.create<long_halo>(n, resident::placement::round_robin);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host::begin>, iterations, end);
    EXPECT_EQ(co_await program.receive(end), 2 * n * iterations);
    co_await program.quiescence();
  });
}

TEST_P(resident_pressure, does_not_change_the_order_of_numbered_messages) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using systems = resident::system<orderly_program>;
    using host = orderly<systems::context>;
    systems program(rt, o);
    const auto two = program.create<orderly>(2, resident::placement::round_robin);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(two[0], entry<&host::send>, 10u, 7u);
    co_await program.quiescence();
    co_await program.invoke(two[1], entry<&host::tell>, told);
    EXPECT_EQ(co_await program.receive(told), 70u);
  });
}

TEST_P(resident_pressure, of_an_element_that_is_never_idle_leaves_time_for_channels) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using systems = resident::system<spinner_program>;
    using host = spinner<systems::context>;
    systems program(rt, o);
    const auto two = program.create<spinner>(2, resident::placement::block, entry<&host::open>);
    co_await program.start();
    co_await program.quiescence();
    co_await program.broadcast(two, entry<&host::turn>);
    co_await program.broadcast(two, entry<&host::send>);
    co_await expect_end_at_quiescence(program);
  });
}

TEST_P(resident_pressure, leaves_spans_aligned) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using systems = resident::system<aligned_program>;
    using host = aligned_taker<systems::context>;
    systems program(rt, o);
    const auto all = program.create<aligned_taker>(2);
    const auto sum = program.make_host_mailbox<float>();
    co_await program.start();
    for (const auto& [n, expected] : {std::pair{1u, 10.f}, {2u, 36.f}, {3u, 78.f}}) {
      co_await program.invoke(all[1], entry<&host::send>, n, sum);
      EXPECT_EQ(co_await program.receive(sum), expected);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_pressure, machines_without_wide_gpus, name_of_machine);

}  // namespace
}  // namespace starling_test
