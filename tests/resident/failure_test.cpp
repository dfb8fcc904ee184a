// SPDX-License-Identifier: Apache-2.0
// How resident programs start and end: normally, too early, and with errors that name a remedy.
#include <cstdint>
#include <fstream>

#include "failure_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using clumsies = resident::system<clumsy_program>;
using host = clumsy<clumsies::context>;

class resident_failures : public on_machine {
 protected:
  /// Returns the text of the error with which a program ends after the message `what` to an
  /// element.
  template <auto Method, class... Args>
  std::string error_after(resident::entry_name<Method> what, Args... args) {
    std::string text;
    run([&](runtime& rt, resident::options o) -> task<void> {
      o.stall_seconds = 0.05;
      clumsies program(rt, o);
      const auto all = program.create<clumsy>(8);
      co_await program.start();
      co_await program.invoke(all[5], what, args...);
      text = co_await error_of<starling::resident_error>(program.ended());
    });
    return text;
  }
};

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << text;
}

TEST_P(resident_failures, of_an_index_name_the_element_and_the_method) {
  expect_part(error_after(entry<&host::wrong_index>, 8u),
              "element 5 of clumsy, entry method wrong_index: it named element 8 of an array of 8");
  expect_part(error_after(entry<&host::wrong_signal>, 4000000000u),
              "entry method wrong_signal: it named element 4000000000 of an array of 8");
  expect_part(error_after(entry<&host::wrong_index_with_span>, 8u),
              "entry method wrong_index_with_span: it named element 8 of an array of 8");
  expect_part(error_after(entry<&host::wrong_array_with_span>),
              "entry method wrong_array_with_span: ");
}

TEST_P(resident_failures, of_the_user_carry_the_number) {
  expect_part(error_after(entry<&host::give_up>, 42u),
              "element 5 of clumsy, entry method give_up: it called `fail(42)`");
}

TEST_P(resident_failures, end_a_scheduler_before_its_next_message) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(4);
    const auto told = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::give_up_before>, told);
    expect_part(co_await error_of<starling::resident_error>(program.ended()), "9");
    const std::string nothing = co_await error_of<starling::resident_error>(program.receive(told));
    EXPECT_FALSE(nothing.empty());
  });
}

TEST_P(resident_failures, of_a_full_mailbox_name_the_scheduler) {
  const std::string text = error_after(entry<&host::flood>);
  // An answer of the detection of quiescence may be in flight, too.
  expect_part(text, "it has no room for another message: of its 1024 cells ");
  expect_part(text, "hold messages whose receivers do not take them, the remaining ones its own");
  expect_part(text, "Raise `cells`");
}

TEST_P(resident_failures, of_memory_name_the_sizes) {
  expect_part(error_after(entry<&host::big_span>, 1025u),
              "a span of 4100 bytes does not fit into 4096");
  expect_part(error_after(entry<&host::big_broadcast>, 100u),
              "a span of 400 bytes does not fit into 88");
  expect_part(error_after(entry<&host::big_span>, 1u << 20),
              "4194304 bytes of memory were asked for and 1048576 are left. Raise `heap_bytes`");
  expect_part(error_after(entry<&host::lend_own>),
              "it lent memory that is neither from `allocate`");
}

TEST_P(resident_failures, of_waits_name_the_counter_and_its_state) {
  expect_part(error_after(entry<&host::wait_twice>),
              "for which an entry method waits already: nothing, which lacks 1 arrivals");
  expect_part(error_after(entry<&host::take_from_a_wait>),
              "for which an entry method waits already");
}

TEST_P(resident_failures, of_two_elements_that_flood_each_other_end_the_program) {
  if (schedulers(GetParam().options) < 2) GTEST_SKIP() << "needs two schedulers";
  run([](runtime& rt, resident::options o) -> task<void> {
    o.stall_seconds = 0.05;
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(2);
    co_await program.start();
    co_await program.broadcast(all, entry<&host::flood_other>);
    expect_part(co_await error_of<starling::resident_error>(program.ended()), "it has no room");
  });
}

TEST_P(resident_failures, of_a_past_message_number_name_both_numbers) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(2);
    co_await program.start();
    co_await program.invoke(all[1], entry<&host::numbered>, 0u);
    co_await program.invoke(all[1], entry<&host::numbered>, 0u);
    expect_part(co_await error_of<starling::resident_error>(program.ended()),
                "entry method numbered: a message with number 0 came when 1 was expected already");
  });
}

TEST_P(resident_failures, of_contributions_that_differ_name_both) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    const std::string other[] = {"a sum of float to host mailbox 1",
                                 "a max of double to host mailbox 0",
                                 "a sum of double to element 6 of clumsy, entry method hear",
                                 "a barrier to all elements of clumsy, entry method nothing"};
    for (const unlike how : {unlike::type, unlike::operation, unlike::goal, unlike::barrier}) {
      clumsies program(rt, o);
      const auto all = program.create<clumsy>(8);
      const auto to = program.make_host_mailbox<double>();
      const auto narrow = program.make_host_mailbox<float>();
      co_await program.start();
      co_await program.broadcast(all, entry<&host::contribute_unlike>, how, to, narrow);
      const auto text = co_await error_of<starling::resident_error>(program.receive(to));
      expect_part(text, "contributions of elements of clumsy to one reduction do not match: ");
      expect_part(text, "a sum of double to host mailbox 0");
      expect_part(text, other[std::size_t(how)]);
    }
  });
}

// They occupy all cells but one, so that the message they wait for cannot be received.
TEST_P(resident_failures, occur_where_early_messages_leave_no_room) {
  run([](runtime& rt, const resident::options& machine) -> task<void> {
    resident::options o = machine;
    o.cells = 64;
    o.stall_seconds = 0.3;
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(2);
    co_await program.start();
    // The program may end with the error before all are sent: then `invoke` throws it.
    const auto send = [](auto& to, auto second) -> task<void> {
      for (std::uint32_t number = 1; number <= 70; ++number)
        co_await to.invoke(second, entry<&host::numbered>, number);
      co_await to.invoke(second, entry<&host::numbered>, 0u);
      co_await to.ended();
    };
    expect_part(co_await error_of<starling::resident_error>(send(program, all[1])),
                "it has no room for another message");
  });
}

TEST_P(resident_failures, leave_the_runtime_usable) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    for (int i = 0; i < 3; ++i) {
      clumsies program(rt, o);
      const auto all = program.create<clumsy>(8);
      co_await program.start();
      co_await program.invoke(all[2], entry<&host::give_up>, 7u);
      try {
        static_cast<void>(co_await program.ended());
        ADD_FAILURE() << "no error";
      } catch (const starling::resident_error& e) {
        EXPECT_EQ(e.number(), 7u);
      }
      clumsies second(rt, o);
      const auto more = second.create<clumsy>(3);
      co_await second.start();
      co_await second.broadcast(more, entry<&host::nothing>);
      co_await second.quiescence();
      second.stop();
      EXPECT_EQ((co_await second.ended()).entries_run, 3u);
    }
  });
}

TEST_P(resident_failures, do_not_result_from_a_stop_under_load) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(16);
    co_await program.start();
    for (int i = 0; i < 50; ++i)
      co_await program.invoke(all[std::uint32_t(i) % 16], entry<&host::for_ever>);
    program.stop();
    const resident::end_report report = co_await program.ended();
    EXPECT_LE(report.left, 50u);
  });
}

// A scheduler polls twice for each message with a span, and every sixteenth poll is for a stop.
// With either value of `before`, one of its polls must be that poll.
TEST_P(resident_failures, do_not_result_from_a_stop_while_spans_circulate) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    for (std::uint32_t before = 0; before < 2; ++before) {
      clumsies program(rt, o);
      const auto all = program.create<clumsy>(1);
      const auto told = program.make_host_mailbox<std::uint32_t>();
      co_await program.start();
      co_await program.invoke(all[0], entry<&host::begin_spans>, before);
      co_await program.invoke(all[0], entry<&host::tell>, told);
      co_await program.receive(told);  // the messages with spans are in flight
      program.stop();
      const resident::end_report report = co_await program.ended();
      EXPECT_LE(report.left, 1u);
    }
  });
}

TEST_P(resident_failures, do_not_result_from_a_system_that_is_dropped) {
  run([](runtime& rt, const resident::options& o) -> task<void> {
    {
      clumsies never_started(rt, o);
      static_cast<void>(never_started.create<clumsy>(3));
    }
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(16);
    co_await program.start();
    co_await program.broadcast(all, entry<&host::for_ever>);
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_failures, all_machines, name_of_machine);

/// A chare of a program that is not compiled for devices.
template <class Cx>
struct never_compiled : resident::chare {
  struct entries : resident::entries<> {};
};

// The program runs without end, and a task waits for a value that is never sent.
TEST(resident_run, that_is_ended_ends_the_program_and_its_waiters) {
  const auto main = [](runtime& rt, const resident::options& o) -> task<int> {
    clumsies program(rt, o);
    const auto all = program.create<clumsy>(4);
    const auto never = program.make_host_mailbox<int>();
    co_await program.start();
    for (std::uint32_t i = 0; i < 4; ++i) co_await program.invoke(all[i], entry<&host::for_ever>);
    rt.post([]() -> task<> {
      starling::exit_run(5);
      co_return;
    }());
    expect_part(co_await error_of<starling::usage_error>(program.receive(never)), "run was ended");
    co_return 0;
  };
  {
    runtime rt(options_with(2));
    EXPECT_EQ(starling::run(rt, main(rt, {})), 5);
  }
  const resident::options two{.ranks = 2, .schedulers = 2};
  cluster{2, 2}.expect(5, [&](runtime& rt) { return main(rt, two); });
}

class resident_system : public testing::Test {
 protected:
  runtime rt{options_with(2)};
};

TEST_F(resident_system, refuses_options_by_name_and_value) {
  const auto refused = [&](resident::options o) {
    return message_of<starling::option_error>([&] { clumsies program(rt, o); });
  };
  EXPECT_EQ(refused({.devices = 9}),
            "resident option devices = 9 cannot be used: it must be from 1 to 8");
  expect_part(refused({.schedulers = 0}), "schedulers = 0");
  expect_part(refused({.devices = 8, .schedulers = 8192}), "schedulers = 8192");
  expect_part(refused({.threads = 65}), "threads = 65");
  expect_part(refused({.place = resident::place::device, .threads = 48}), "threads = 48");
  expect_part(refused({.group_blocks = 2}),
              "group_blocks = 2 cannot be used: it must be 0 or 1 where `granularity` is block");
  constexpr auto cluster = resident::granularity::cluster;
  constexpr auto whole = resident::granularity::device;
  expect_part(refused({.granularity = cluster, .group_blocks = 3}),
              "group_blocks = 3 cannot be used: it must be 2, 4, 8 or 16");
  expect_part(refused({.granularity = cluster, .group_blocks = 16, .multiprocessors = 64}),
              "group_blocks = 16 cannot be used: it must be at most 8 where `multiprocessors`");
  expect_part(refused({.threads = 33, .granularity = cluster}), "group_blocks = 2");
  expect_part(refused({.granularity = whole}), "schedulers = 4 cannot be used: it must be 1");
  expect_part(refused({.place = resident::place::device,
                       .schedulers = 1,
                       .granularity = whole,
                       .group_blocks = 2049}),
              "group_blocks = 2049");
  expect_part(refused({.granularity = resident::granularity{3}}), "granularity = 3");
  constexpr auto nvshmem = resident::reach::nvshmem;
  expect_part(refused({.granularity = cluster, .reach = nvshmem}), "reach = 1 cannot be used");
  expect_part(refused({.reach = resident::reach{2}}), "reach = 2");
  expect_part(refused({.place = resident::place::device, .devices = 2, .reach = nvshmem}),
              "devices = 2 cannot be used: it must be 1 where `reach` is nvshmem");
  expect_part(refused({.reach = nvshmem, .symmetric_bytes = 1}), "symmetric_bytes = 1");
  expect_part(refused({.ring_slots = 48}), "a power of two");
  expect_part(refused({.cells = 3}), "cells = 3");
  expect_part(refused({.blocks = 65}), "blocks = 65");
  expect_part(refused({.block_bytes = 100}), "block_bytes = 100");
  expect_part(refused({.stall_seconds = 0}), "stall_seconds = 0");
}

TEST_F(resident_system, names_options_for_less_memory) {
  if (std::ifstream("/proc/sys/vm/overcommit_memory").get() == '1')
    GTEST_SKIP() << "this system promises any amount";
  clumsies program(rt, {.schedulers = 1, .heap_bytes = std::uint64_t{1} << 40});
  expect_part(message_of<starling::out_of_memory>([&] { rt.sync_wait(program.start()); }),
              "take fewer schedulers, cells, slots or a smaller heap");
}

TEST_F(resident_system, refuses_calls_in_the_wrong_order) {
  clumsies program(rt);
  const auto all = program.create<clumsy>(2);
  const auto box = program.make_host_mailbox<int>();
  const auto says = [&](auto awaited) {
    return rt.sync_wait(error_of<starling::usage_error>(std::move(awaited)));
  };
  expect_part(says(program.receive(box)), "before the start");
  const auto invoked = [&](resident::element_ref<clumsy> to) -> task<bool> {
    co_await program.invoke(to, entry<&host::nothing>);
    co_return true;
  };
  expect_part(says(invoked(all[0])), "before the start");
  rt.sync_wait(program.start());
  expect_part(message_of<starling::usage_error>([&] { rt.sync_wait(program.start()); }),
              "started once");
  expect_part(message_of<starling::usage_error>([&] { program.create<clumsy>(1); }),
              "before it starts");
  expect_part(says(invoked(all[2])), "element 2 of array 0 (clumsy): it has 2 elements");
  program.stop();
  EXPECT_EQ(rt.sync_wait(program.ended()).messages, 0u);
  expect_part(says(program.receive(box)), "ended before it sent the awaited value");
  expect_part(says(invoked(all[0])), "after the end");
}

TEST_F(resident_system, refuses_a_map_to_a_scheduler_that_is_not_there) {
  clumsies program(rt, {.schedulers = 3});
  static_cast<void>(program.create<clumsy>(
      4, [](std::uint32_t i) { return i; }, entry<&host::nothing>));
  expect_part(message_of<starling::usage_error>([&] { rt.sync_wait(program.start()); }),
              "puts element 3 on scheduler 3: there are 3");
}

TEST_F(resident_system, requires_code_for_its_devices) {
  const auto refused = [&](resident::options o) {
    o.place = resident::place::device;
    resident::system<resident::program<clumsy, never_compiled>> program(rt, o);
    return message_of<starling::usage_error>([&] { rt.sync_wait(program.start()); });
  };
  expect_part(refused({}), "template struct starling::resident::cuda::instantiate<…>;");
  expect_part(refused({.granularity = resident::granularity::cluster}),
              "instantiate<…, starling::resident::cuda::cluster_group>;");
  expect_part(refused({.schedulers = 1, .granularity = resident::granularity::device}),
              "instantiate<…, starling::resident::cuda::device_group>;");
}

TEST_F(resident_system, has_a_limited_number_of_threads_on_the_host) {
  clumsies program(rt, {.schedulers = 257});
  expect_part(message_of<starling::option_error>([&] { rt.sync_wait(program.start()); }),
              "at most 256");
}

TEST_F(resident_system, accepts_arrays_without_elements) {
  rt.sync_wait([&]() -> task<void> {
    clumsies program(rt);
    const auto none = program.create<clumsy>(0);
    co_await program.start();
    co_await program.broadcast(none, entry<&host::nothing>);
    co_await program.quiescence();
  }());
}

}  // namespace
}  // namespace starling_test
