// SPDX-License-Identifier: Apache-2.0
// Persistent channels between resident chares.
#include "channel_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using links = resident::system<link_program>;
using host_link_chare = link<links::context>;

class resident_channels : public on_machine {};

TEST_P(resident_channels, carry_data_of_any_length_around_a_ring) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t n = 13;
    const auto steps = times(o, 700, 40);
    links program(rt, o);
    const auto ring =
        program.create<link>(n, resident::placement::round_robin, entry<&host_link_chare::open>);
    const auto end = program.make_mailbox<float>();
    co_await program.start();
    co_await program.broadcast(ring, entry<&host_link_chare::begin>, steps, end);
    EXPECT_EQ(co_await program.receive(end), float(n * steps));
    co_await program.quiet();  // sends on channels count as messages
    program.stop();
    EXPECT_EQ((co_await program.ended()).left, 0u);
  });
}

/// What is wrong with a use of a channel ends the program with an error that says so.
template <auto Method>
void expect_error(const resident::options& o, const std::string& part) {
  run_with(o, [&part](runtime& rt, const resident::options& chosen) -> task<void> {
    links program(rt, chosen);
    const auto ring =
        program.create<link>(2, resident::placement::block, entry<&host_link_chare::open>);
    co_await program.start();
    co_await program.invoke(ring[0], entry<Method>);
    const std::string text = co_await error_of<starling::resident_error>(program.ended());
    EXPECT_NE(text.find(part), text.npos) << text;
  });
}

TEST_P(resident_channels, refuse_a_send_whose_room_is_not_released) {
  expect_error<&host_link_chare::overrun>(
      GetParam().options, "a channel whose receiver has not released one of the last 2 yet");
}
TEST_P(resident_channels, refuse_a_send_beyond_the_capacity) {
  expect_error<&host_link_chare::too_long>(GetParam().options, "a span of 1204 bytes");
}

TEST(resident_channel, refuses_a_send_before_it_is_open) {
  runtime rt(options_with(2));
  const auto body = [&]() -> task<std::string> {
    links program(rt, {.schedulers = 2});
    const auto ring = program.create<link>(2);
    co_await program.start();
    co_await program.invoke(ring[0], entry<&host_link_chare::too_early>);
    co_return co_await error_of<starling::resident_error>(program.ended());
  };
  const std::string text = rt.sync_wait(body());
  EXPECT_NE(
      text.find(
          "element 0 of link, entry method too_early: it sent on a channel that the receiver"),
      text.npos)
      << text;
}

TEST(resident_channel, keeps_its_element_on_its_scheduler) {
  expect_error<&host_link_chare::move>({.schedulers = 2}, "receiving ends of channels");
}

TEST(resident_channel, needs_heap_and_a_place_on_the_scheduler) {
  runtime rt(options_with(2));
  const auto error = [&](resident::options o, std::uint32_t n) {
    return rt.sync_wait([&]() -> task<std::string> {
      links program(rt, o);
      static_cast<void>(
          program.create<link>(n, resident::placement::block, entry<&host_link_chare::open>));
      co_await program.start();
      co_return co_await error_of<starling::resident_error>(program.ended());
    }());
  };
  const std::string heap = error({.schedulers = 1, .heap_bytes = 4096}, 3);
  EXPECT_NE(heap.find("2560 bytes of memory were asked for and 1536 are left"), heap.npos) << heap;
  const std::string most = error({.schedulers = 1}, 65);
  EXPECT_NE(most.find("64 receiving ends of channels already"), most.npos) << most;
}

INSTANTIATE_TEST_SUITE_P(on, resident_channels, all_machines, name_of_machine);

}  // namespace
}  // namespace starling_test
