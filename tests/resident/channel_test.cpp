// SPDX-License-Identifier: Apache-2.0
// Persistent channels between resident chares.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "channel_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using links = resident::system<link_program>;
using host_link_chare = link<links::context>;
using host_volley_chare = volley<links::context>;

class resident_channels : public on_machine {};

task<void> go_around(runtime& rt, const resident::options& o, std::uint32_t n,
                     std::uint32_t steps) {
  links program(rt, o);
  const auto ring =
      program.create<link>(n, resident::placement::round_robin, entry<&host_link_chare::open>);
  const auto end = program.make_host_mailbox<float>();
  co_await program.start();
  co_await program.broadcast(ring, entry<&host_link_chare::begin>, steps, end);
  EXPECT_EQ(co_await program.receive(end), float(n * steps));
  co_await expect_end_at_quiescence(program);  // sends on channels count as messages
}

TEST_P(resident_channels, carry_data_of_any_length_around_a_ring) {
  run([](runtime& rt, resident::options o) -> task<void> {
    co_await go_around(rt, o, 13, times(o, 700, 40));
  });
}

/// As many channels as up to four schedulers may have, more than one poll covers.
TEST_P(resident_channels, may_be_many) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t most = resident::detail::most_channels * schedulers(o);
    co_await go_around(rt, o, std::min(most, 256u), times(o, 10, 3));
  });
}

task<void> play_volleys(runtime& rt, const resident::options& o, std::uint32_t players,
                        telling when) {
  const auto rounds = times(o, 500, 100);
  links program(rt, o);
  const auto all = program.create<volley>(players, resident::placement::round_robin,
                                          entry<&host_volley_chare::open>);
  const auto end = program.make_host_mailbox<std::uint32_t>();
  co_await program.start();
  co_await program.broadcast(all, entry<&host_volley_chare::begin>, rounds, when, end);
  EXPECT_EQ(co_await program.receive(end), 2 * players * rounds);
  co_await expect_end_at_quiescence(program);
}

TEST_P(resident_channels, report_sends_and_releases_together) {
  for (const telling when :
       {telling::at_the_end, telling::after_releases, telling::between_sends, telling::all_the_time,
        telling::by_one_thread, telling::by_one_thread_at_once})
    for (const std::uint32_t players : {1u, 2u})
      run([=](runtime& rt, resident::options o) -> task<void> {
        co_await play_volleys(rt, o, players, when);
      });
}

template <template <class> class Chare>
using pair_context = typename resident::system<resident::program<Chare>>::context;

/// Creates two elements on two schedulers; one sends 2.5 on a channel, the other must take it.
template <template <class> class Chare>
void expect_taken() {
  using chare = Chare<pair_context<Chare>>;
  chare::taken = 0;
  runtime rt(options_with(2));
  rt.sync_wait([&]() -> task<void> {
    resident::system<resident::program<Chare>> program(rt, {.schedulers = 2});
    static_cast<void>(
        program.template create<Chare>(2, resident::placement::block, entry<&chare::open>));
    co_await program.start();
    static_cast<void>(co_await program.ended());
  }());
  EXPECT_EQ(chare::taken.load(), 2.5f);
}

/// Sends, and stays in its entry method until the element on the other scheduler has the data.
template <class Cx>
struct insistent : resident::chare {
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;
  float m_value = 2.5f;
  static inline std::atomic<float> taken;

  void open(Cx& cx) {
    cx.open(m_in, 1, m_arrived, cx.array_of(*this)[1 - index()], &insistent::m_out,
            &insistent::m_room);
    index() == 0 ? cx.when_counted(m_room, 2, entry<&insistent::send>)
                 : cx.when_counted(m_arrived, 1, entry<&insistent::take>);
  }
  void send(Cx& cx) {
    cx.send(m_out, std::span<const float>(&m_value, 1));
    cx.flush();
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (taken.load() != m_value && std::chrono::steady_clock::now() < last)
      std::this_thread::yield();
    if (taken.load() != m_value) cx.fail(1);
    cx.stop();
  }
  void take(Cx& cx) { taken.store(cx.received(m_in)[0]); }

  struct entries : resident::entries<&insistent::open, &insistent::send, &insistent::take> {};
};

TEST(resident_channel, reports_at_a_flush_while_the_entry_method_runs) {
  expect_taken<insistent>();
}

/// Polls in an entry method for data that is sent meanwhile.
template <class Cx>
struct expectant : resident::chare {
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;
  float m_value = 2.5f;
  static inline std::atomic<bool> asks;
  static inline std::atomic<float> taken;

  void open(Cx& cx) {
    cx.open(m_in, 1, m_arrived, cx.array_of(*this)[1 - index()], &expectant::m_out,
            &expectant::m_room);
    if (index() == 0) cx.when_counted(m_room, 2, entry<&expectant::begin>);
  }
  void begin(Cx& cx) {
    cx.invoke(cx.array_of(*this)[1], entry<&expectant::ask>);
    send(cx);
  }
  void ask(Cx& cx) {
    if (cx.take(m_arrived, 1)) cx.fail(1);  // not sent yet
    asks = true;
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!cx.take(m_arrived, 1) && std::chrono::steady_clock::now() < last)
      std::this_thread::yield();
    if (cx.has_come(m_in)) taken.store(cx.received(m_in)[0]);
    cx.stop();
  }
  void send(Cx& cx) {
    const auto self = cx.array_of(*this)[index()];
    if (!asks) return cx.invoke(self, entry<&expectant::send>);
    cx.send(m_out, std::span<const float>(&m_value, 1));
  }

  struct entries
      : resident::entries<&expectant::open, &expectant::begin, &expectant::ask, &expectant::send> {
  };
};

TEST(resident_channel, is_counted_for_a_running_entry_method) {
  expectant<pair_context<expectant>>::asks = false;
  expect_taken<expectant>();
}

/// Expects that the wrong use of a channel by `Method` ends the program with an error that has
/// `part`.
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

/// Opens two channels for the same sending end.
template <class Cx>
struct greedy : resident::chare {
  resident::channel_in<float> m_first, m_second;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room;

  void open(Cx& cx) {
    const auto other = cx.array_of(*this)[1 - index()];
    for (auto* in : {&m_first, &m_second})
      cx.open(*in, 1, m_arrived, other, &greedy::m_out, &greedy::m_room);
  }
  struct entries : resident::entries<&greedy::open> {};
};

TEST(resident_channel, has_one_sending_end) {
  using program_type = resident::system<resident::program<greedy>>;
  using chare = greedy<program_type::context>;
  runtime rt(options_with(2));
  const std::string text = rt.sync_wait([&]() -> task<std::string> {
    program_type program(rt, {.schedulers = 2});
    static_cast<void>(program.create<greedy>(2, resident::placement::block, entry<&chare::open>));
    co_await program.start();
    co_return co_await error_of<starling::resident_error>(program.ended());
  }());
  EXPECT_NE(text.find("a channel of which an end is open already"), text.npos) << text;
}

TEST(resident_channel, lends_only_memory_that_the_receiver_can_access) {
  expect_error<&host_link_chare::lend_own>({.schedulers = 2},
                                           "memory that is neither from `allocate`");
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
