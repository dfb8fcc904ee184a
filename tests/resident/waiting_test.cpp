// SPDX-License-Identifier: Apache-2.0
// Waits of elements: for counters, reference numbers and quiescence.
#include "support.hpp"
#include "waiting_chares.hpp"

namespace starling_test {
namespace {

using cells = resident::system<cell_program>;

std::uint64_t expected_sum(std::uint32_t n, std::uint32_t iterations) {
  std::vector<std::uint64_t> now(n), next(n);
  for (std::uint32_t i = 0; i < n; ++i) now[i] = i + 1;
  for (std::uint32_t k = 0; k < iterations; ++k) {
    for (std::uint32_t i = 0; i < n; ++i)
      next[i] = (now[i] + now[(i + 1) % n] + now[(i + n - 1) % n]) % 1000003;
    now.swap(next);
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t v : now) sum += v;
  return sum;
}

class resident_waiting : public on_machine {};

TEST_P(resident_waiting, for_numbered_messages_gives_each_iteration_its_own) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = cell_chare<cells::context>;
    const auto iterations = times(o, 200, 20);
    cells program(rt, o);
    const auto all = program.create<cell_chare>(37);
    const auto end = program.make_host_mailbox<std::uint64_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host::begin>, iterations, end);
    EXPECT_EQ(co_await program.receive(end), expected_sum(37, iterations));
    co_await expect_end_at_quiescence(program);
  });
}

using patients = resident::system<patient_program>;

TEST_P(resident_waiting, for_signals_counts_early_ones_and_uses_them_up) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(9);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host::signal>, 4u, 3u);  // 27 for element 4
    co_await program.quiescence();
    co_await program.invoke(all[4], entry<&host::wait>, 20u, told);
    EXPECT_EQ(co_await program.receive(told), 120u);
    co_await program.invoke(all[4], entry<&host::wait>, 8u, told);  // seven have arrived
    co_await program.quiescence();
    co_await program.invoke(all[0], entry<&host::signal>, 4u, 1u);
    EXPECT_EQ(co_await program.receive(told), 208u);
    co_await program.invoke(all[2], entry<&host::early>);
    co_await program.invoke(all[2], entry<&host::wait_own>, told);
    EXPECT_EQ(co_await program.receive(told), 102u);
  });
}

TEST_P(resident_waiting, for_signals_counts_signals_to_elements_that_moved_away_or_in) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(9);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (const std::uint32_t moved : {4u, 8u}) {
      co_await program.invoke(all[moved], entry<&host::move>, o.schedulers);
      co_await program.quiescence();
      co_await program.invoke(all[moved], entry<&host::wait>, 18u, told);
      co_await program.quiescence();
      co_await program.broadcast(all, entry<&host::signal>, moved, 2u);  // it signals itself, too
      EXPECT_EQ(co_await program.receive(told), 118u);
    }
    co_await expect_end_at_quiescence(program);
  });
}

TEST_P(resident_waiting, for_signals_of_an_element_to_itself_keeps_their_order) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(2);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::tell_in_order>, told);
    for (const std::uint32_t expected : {101u, 202u, 303u})
      EXPECT_EQ(co_await program.receive(told), expected);
    co_await program.invoke(all[1], entry<&host::signal_and_wait>, told);
    EXPECT_EQ(co_await program.receive(told), 404u);
    // Also where the element has moved to another scheduler, which queues its signals.
    co_await program.invoke(all[1], entry<&host::move>, o.schedulers);
    co_await program.quiescence();
    co_await program.invoke(all[1], entry<&host::tell_in_order>, told);
    for (const std::uint32_t expected : {501u, 602u, 703u})
      EXPECT_EQ(co_await program.receive(told), expected);
    co_await expect_end_at_quiescence(program);
  });
}

TEST_P(resident_waiting, for_signals_of_an_element_to_itself_delays_no_other_message) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(2);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::move>, o.schedulers);
    co_await program.quiescence();
    co_await program.invoke(all[1], entry<&host::turn>, told);
    co_await program.invoke(all[1], entry<&host::end_turns>);
    EXPECT_EQ(co_await program.receive(told), 1u);
    co_await expect_end_at_quiescence(program);
  });
}

TEST_P(resident_waiting, may_be_left_out_while_enough_signals_have_arrived) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(3);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (int i = 0; i < 2; ++i) co_await program.invoke(all[1], entry<&host::early>);  // 3 each
    co_await program.invoke(all[1], entry<&host::take_own>, told);
    co_await program.quiescence();
    co_await program.invoke(all[1], entry<&host::early>);
    EXPECT_EQ(co_await program.receive(told), 103u);
    co_await program.invoke(all[1], entry<&host::take_own>, told);  // two were left
    co_await program.invoke(all[1], entry<&host::early>);
    EXPECT_EQ(co_await program.receive(told), 201u);
  });
}

TEST_P(resident_waiting, for_no_signals_continues_at_once) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(2);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::wait>, 1u, told);
    co_await program.invoke(all[1], entry<&host::wait_for_none>, 3u);
    EXPECT_EQ(co_await program.receive(told), 101u);
  });
}

using spreads = resident::system<spreading_program>;

TEST_P(resident_waiting, for_quiescence_ends_after_the_last_message) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = spreading<spreads::context>;
    const std::uint32_t depth = 9;
    o.cells = 4 << depth;  // enough for a breadth-first order
    spreads program(rt, o);
    const auto all = program.create<spreading>(23);
    const auto told = program.make_host_mailbox<int>();
    co_await program.start();
    co_await program.quiescence();  // quiescence before the first message
    for (int i = 0; i < 3; ++i) {
      co_await program.invoke(all[3], entry<&host::spread_and_tell>, depth, told);
      EXPECT_EQ(co_await program.receive(told), 1);
    }
    co_await program.quiescence();
    program.stop();
    const resident::end_report report = co_await program.ended();
    EXPECT_EQ(report.left, 0u);
    EXPECT_EQ(report.entries_run, 3 * ((2u << depth) - 1 + 1));
  });
}

TEST_P(resident_waiting, for_messages_that_never_arrive_is_a_hang_that_is_explained) {
  const auto body = [](runtime& rt, const resident::options& o) -> task<void> {
    using host = patient<patients::context>;
    patients program(rt, o);
    const auto all = program.create<patient>(3);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::wait>, 5u, told);
    co_await program.invoke(all[0], entry<&host::signal>, 1u, 2u);
    static_cast<void>(co_await program.receive(told));
  };
  const std::string text = hang_of(GetParam().options, body);
  EXPECT_NE(text.find("host mailbox 0"), text.npos) << text;
  EXPECT_NE(text.find("element 1 of patient waits for arrivals before tell: 2 of 5"), text.npos)
      << text;
}

TEST_P(resident_waiting, for_a_message_number_that_never_arrives_is_reported) {
  const auto body = [](runtime& rt, const resident::options& o) -> task<void> {
    using host = cell_chare<cells::context>;
    cells program(rt, o);
    const auto all = program.create<cell_chare>(3);
    co_await program.start();
    co_await program.invoke(all[2], entry<&host::halo>, 7u, std::uint64_t{1});
    static_cast<void>(co_await program.ended());
  };
  const std::string text = hang_of(GetParam().options, body);
  EXPECT_NE(text.find("element 2 of cell_chare expects 0 and keeps a message halo(7)"), text.npos)
      << text;
}

INSTANTIATE_TEST_SUITE_P(on, resident_waiting, all_machines, name_of_machine);

}  // namespace
}  // namespace starling_test
