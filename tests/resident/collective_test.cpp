// SPDX-License-Identifier: Apache-2.0
// Broadcasts, reductions, and elements that migrate.
#include "collective_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using members = resident::system<member_program>;
using host_member = member<members::context>;

class resident_collectives : public on_machine {};

TEST_P(resident_collectives, broadcasts_reach_all_in_one_order) {
  run([](runtime& rt, resident::options o) -> task<void> {
    members program(rt, o);
    const auto all = program.create<member>(31);
    co_await program.start();
    co_await program.invoke(all[17], entry<&host_member::speak>, 1u, 20u);
    co_await program.quiescence();
    for (std::uint32_t i = 21; i <= 40; ++i)
      co_await program.broadcast(all, entry<&host_member::hear>, i);
    co_await program.quiescence();
    program.stop();
    EXPECT_EQ((co_await program.ended()).entries_run, 31u * 40 + 1);
  });
}

TEST_P(resident_collectives, reductions_of_some_elements_on_few_schedulers_come_in_order) {
  run([](runtime& rt, resident::options o) -> task<void> {
    for (const std::uint32_t n : {1u, 2u, 16u, 100u}) {
      members program(rt, o);
      // Elements on the last scheduler only, and on all schedulers.
      const std::uint32_t last = program.scheduler_count() - 1;
      const auto few = program.create<member>(
          n, [last](std::uint32_t) { return last; }, entry<&host_member::hear>, 1u);
      const auto all = program.create<member>(n, resident::placement::round_robin);
      const auto end = program.make_host_mailbox<double>();
      co_await program.start();
      for (const auto& array : {few, all}) {
        co_await program.broadcast(array, entry<&host_member::to_host>, end);
        EXPECT_EQ(co_await program.receive(end), 0.25 * n * (n - 1));
        EXPECT_EQ(co_await program.receive(end), n - 1.0);
        EXPECT_EQ(co_await program.receive(end), 1.0 - n);
      }
    }
  });
}

TEST_P(resident_collectives, reductions_to_all_begin_the_next_and_barriers_end_them) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const auto rounds = times(o, 100, 10);
    members program(rt, o);
    const auto all = program.create<member>(12);
    const auto end = program.make_host_mailbox<double>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host_member::go>, rounds, end);
    EXPECT_EQ(co_await program.receive(end), 12.0 + rounds - 1);
  });
}

TEST_P(resident_collectives, contributions_may_be_far_ahead_of_other_elements) {
  run([](runtime& rt, resident::options o) -> task<void> {
    members program(rt, o);
    const auto all = program.create<member>(5);
    const auto end = program.make_host_mailbox<double>();
    const std::uint32_t times = 20;  // more than can be in flight at once
    co_await program.start();
    for (std::uint32_t i = 0; i < 5; ++i)
      co_await program.invoke(all[i], entry<&host_member::ahead>, times, end);
    for (std::uint32_t i = 0; i < times; ++i) EXPECT_EQ(co_await program.receive(end), 5.0 * i);
  });
}

using nomads = resident::system<nomad_program>;
using host_nomad = nomad<nomads::context>;

TEST_P(resident_collectives, find_elements_that_move) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t n = 10;
    const auto visits = times(o, 60, 10);
    nomads program(rt, o);
    const auto all = program.create<nomad>(n);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host_nomad::wait>, visits, end);
    for (std::uint32_t v = 0; v < visits; ++v) {
      for (std::uint32_t i = 0; i < n; ++i)
        co_await program.invoke(all[i], entry<&host_nomad::move>, o.schedulers);
      co_await program.broadcast(all, entry<&host_nomad::hear>);
    }
    EXPECT_EQ(co_await program.receive(end), visits * n);
    co_await program.quiescence();
    co_await program.broadcast(all, entry<&host_nomad::count>);
    EXPECT_EQ(co_await program.receive(end), visits * n);  // each broadcast once
    co_await expect_end_at_quiescence(program);
  });
}

TEST_P(resident_collectives, refuse_to_move_to_another_device) {
  run([](runtime& rt, resident::options o) -> task<void> {
    nomads program(rt, o);
    const auto all = program.create<nomad>(2);
    co_await program.start();
    co_await program.invoke(all[0], entry<&host_nomad::leave>, o.schedulers);
    const std::string text = co_await error_of<starling::resident_error>(program.ended());
    EXPECT_NE(text.find("element 0 of nomad, entry method leave: it wanted to move to scheduler " +
                        std::to_string(o.schedulers)),
              text.npos)
        << text;
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_collectives, all_machines, name_of_machine);

}  // namespace
}  // namespace starling_test
