// SPDX-License-Identifier: Apache-2.0
// Messages between resident chares: they arrive in order, whole, and with any size.
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "message_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using flood = resident::system<flood_program>;

class resident_messages : public on_machine {};

TEST_P(resident_messages, of_many_senders_arrive_once_and_in_the_order_of_each) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t senders = 6, receivers = 5;
    const auto each = times(o, 2000, 100);
    flood program(rt, o);
    const auto to = program.create<receiver>(receivers, resident::placement::round_robin);
    const auto from = program.create<sender>(senders);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (std::uint32_t s = 0; s < senders; ++s)
      co_await program.invoke(from[s], entry<&sender<flood::context>::go>, to, each, 3u, senders,
                              end);
    for (std::uint32_t r = 0; r < receivers; ++r)
      EXPECT_EQ(co_await program.receive(end), each * senders);
    co_await program.quiescence();
    program.stop();
    const resident::end_report report = co_await program.ended();
    EXPECT_EQ(report.left, 0u);
    const std::uint64_t turns = senders * ((each + 2) / 3);
    EXPECT_EQ(report.entries_run, std::uint64_t(each) * senders * receivers + turns);
  });
}

// Where private rings are in use: messages of all lengths keep their order across both rings.
TEST_P(resident_messages, to_neighbours_keep_their_order_when_private_rings_are_taken) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t elements = 12;
    const auto each = times(o, 3000, 600);
    flood program(rt, o);
    const auto all = program.create<stream>(elements, resident::placement::round_robin);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&stream<flood::context>::go>, each, 5u, end);
    for (std::uint32_t i = 0; i < elements; ++i) EXPECT_EQ(co_await program.receive(end), each);
    co_await program.quiescence();
  });
}

TEST_P(resident_messages, of_the_host_wait_for_room) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const auto each = times(o, 1500, 300);  // more than the link holds
    flood program(rt, o);
    const auto to = program.create<receiver>(1);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (std::uint32_t i = 0; i < each; ++i)
      co_await program.invoke(to[0], entry<&receiver<flood::context>::take>, 0u, i, each, end);
    EXPECT_EQ(co_await program.receive(end), each);
  });
}

using parrots = resident::system<parrot_program>;

TEST_P(resident_messages, carry_arguments_of_all_sizes_and_alignments) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = parrot<parrots::context>;
    parrots program(rt, o);
    const auto birds = program.create<parrot>(7);
    const auto sum = program.make_host_mailbox<double>();
    const auto back = program.make_host_mailbox<wide>();
    co_await program.start();
    co_await program.invoke(birds[6], entry<&host::few>, std::uint8_t{250}, 0.5,
                            std::uint16_t{60000}, sum);
    EXPECT_EQ(co_await program.receive(sum), 60250.5);
    wide w;
    std::iota(std::begin(w.words), std::end(w.words), 1u);
    co_await program.invoke(birds[3], entry<&host::much>, w, back);
    const wide got = co_await program.receive(back);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(got.words[i], i + 2);
    co_await program.broadcast(birds, entry<&host::none>);
    co_await program.quiescence();
    program.stop();
    EXPECT_EQ((co_await program.ended()).entries_run, 2u + 2 * 7);
  });
}

using couriers = resident::system<courier_program>;

TEST_P(resident_messages, carry_spans_inside_in_blocks_and_by_reference) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = courier<couriers::context>;
    o.block_bytes = 1024;
    couriers program(rt, o);
    const auto ring = program.create<courier>(11);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    std::uint32_t round = 0;
    for (const std::uint32_t n : {0u, 1u, 13u, 14u, 15u, 100u, 255u, 256u})
      for (std::uint32_t i = 0; i < ring.size(); ++i) {
        ++round;
        co_await program.invoke(ring[i], entry<&host::send>, round, n, false, end);
        EXPECT_EQ(co_await program.receive(end), n);
      }
    for (const std::uint32_t n : {0u, 1u, 256u, 300u, 5000u})
      for (std::uint32_t i = 0; i < ring.size(); i += 2) {
        ++round;
        co_await program.invoke(ring[i], entry<&host::send>, round, n, true, end);
        EXPECT_EQ(co_await program.receive(end), n);
        EXPECT_EQ(co_await program.receive(end), n);  // read, and returned
      }
    co_await expect_end_at_quiescence(program);
  });
}

using bursts = resident::system<burst_program>;

TEST_P(resident_messages, stay_behind_spans_that_wait_for_a_block) {
  run([](runtime& rt, resident::options o) -> task<void> {
    using host = burst<bursts::context>;
    o.blocks = 2;
    const auto spans = times(o, 500, 50);
    bursts program(rt, o);
    const auto two = program.create<burst>(2);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    co_await program.invoke(two[0], entry<&host::go>, spans, end);
    EXPECT_EQ(co_await program.receive(end), 2 * spans);
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_messages, all_machines, name_of_machine);

enum class call : std::uint32_t { plain, with_block, signal };
/// State of an earlier send on a channel, on whose data the message may rely.
enum class behind : std::uint32_t { nothing, untold, told };

/// Two elements on two schedulers. The first one calls, and stays in its entry method to see
/// whether the other receives the call meanwhile.
template <class Cx>
struct speaker : resident::chare {
  resident::channel_in<float> m_in;
  resident::channel_out<float> m_out;
  resident::counter m_arrived, m_room, m_called;
  std::array<float, 200> m_data = {};
  static inline std::atomic<bool> is_heard, is_heard_meanwhile;

  void open(Cx& cx) {
    if (index() == 1)
      cx.open(m_in, 1, m_arrived, cx.array_of(*this)[0], &speaker::m_out, &speaker::m_room);
  }
  /// The first message looks up the route, so that the next is sent at once.
  void begin(Cx& cx, call what, behind where) {
    const auto all = cx.array_of(*this);
    cx.invoke(all[1], entry<&speaker::listen>, what);
    cx.invoke(all[0], entry<&speaker::make_call>, what, where);
  }
  void listen(Cx& cx, call what) {
    if (what == call::signal) cx.when_counted(m_called, 1, entry<&speaker::hear>);
  }
  void make_call(Cx& cx, call what, behind where) {
    const auto other = cx.array_of(*this)[1];
    if (where != behind::nothing) cx.send(m_out, std::span<const float>(m_data.data(), 1));
    if (where == behind::told) cx.flush();
    if (what == call::plain) cx.invoke(other, entry<&speaker::hear>);
    if (what == call::with_block)
      cx.invoke(other, entry<&speaker::hear_all>, std::span<const float>(m_data));
    if (what == call::signal) cx.signal(other, &speaker::m_called);
    cx.once([&] {
      using clock = std::chrono::steady_clock;
      const bool must_wait = where == behind::untold;
      const auto last = clock::now() + std::chrono::seconds(30);
      for (int n = 0; !is_heard && (must_wait ? n < 1000 : clock::now() < last); ++n)
        std::this_thread::yield();
      is_heard_meanwhile = is_heard.load();
    });
  }
  void hear(Cx& cx) {
    is_heard = true;
    cx.stop();
  }
  void hear_all(Cx& cx, std::span<const float>) { hear(cx); }

  struct entries : resident::entries<&speaker::open, &speaker::begin, &speaker::listen,
                                     &speaker::make_call, &speaker::hear, &speaker::hear_all> {};
};

bool is_heard_meanwhile(call what, behind where, std::uint32_t threads) {
  using program_type = resident::system<resident::program<speaker>>;
  using chare = speaker<program_type::context>;
  chare::is_heard = chare::is_heard_meanwhile = false;
  runtime rt(options_with(2));
  rt.sync_wait([&]() -> task<void> {
    program_type program(rt, {.schedulers = 2, .threads = threads});
    const auto two = program.create<speaker>(2, resident::placement::block, entry<&chare::open>);
    co_await program.start();
    co_await program.quiescence();
    co_await program.invoke(two[0], entry<&chare::begin>, what, where);
    static_cast<void>(co_await program.ended());
  }());
  EXPECT_TRUE(chare::is_heard);
  return chare::is_heard_meanwhile;
}

TEST(resident_message, is_sent_while_its_entry_method_runs) {
  for (const call what : {call::plain, call::with_block, call::signal})
    for (const behind where : {behind::nothing, behind::told})
      for (const std::uint32_t threads : {1u, 3u})
        EXPECT_TRUE(is_heard_meanwhile(what, where, threads)) << int(what) << int(where);
}
TEST(resident_message, is_not_sent_before_channels_are_notified) {
  for (const call what : {call::plain, call::with_block, call::signal})
    for (const std::uint32_t threads : {1u, 3u})
      EXPECT_FALSE(is_heard_meanwhile(what, behind::untold, threads)) << int(what);
}

using storm = resident::system<storm_program>;

// A sender caches 128 rings: the rings to schedulers 0 and 128, and so on, evict each other.
TEST(resident_storm, keeps_the_order_of_messages_to_more_schedulers_than_a_sender_caches) {
  const std::uint32_t senders = 2, receivers = 132, each = 20;
  const resident::options many{.schedulers = receivers, .ring_slots = 1, .heap_bytes = 4096};
  run_with(many, [](runtime& rt, const resident::options& o) -> task<void> {
    flood program(rt, o);
    const auto to = program.create<receiver>(receivers);  // one on each scheduler
    const auto from = program.create<sender>(senders);
    const auto end = program.make_host_mailbox<std::uint32_t>();
    co_await program.start();
    for (std::uint32_t s = 0; s < senders; ++s)
      co_await program.invoke(from[s], entry<&sender<flood::context>::go>, to, each, 1u, senders,
                              end);
    for (std::uint32_t r = 0; r < receivers; ++r)
      EXPECT_EQ(co_await program.receive(end), each * senders);
  });
}

TEST(resident_storm, from_all_to_all_with_credits_of_one_loses_and_duplicates_no_message) {
  const auto body = [](runtime& rt, const resident::options& o) -> task<void> {
    using host = storm_chare<storm::context>;
    const std::uint32_t chares = 24;
    const auto rounds = std::uint32_t(many(50, 5));
    std::uint64_t expected = 0;
    for (std::uint32_t c = 0; c < chares; ++c) {
      std::uint32_t random = c * 747796405u + 2891336453u;
      for (std::uint32_t i = 0; i < rounds * chares; ++i)
        expected += random = random * 747796405u + 2891336453u;
    }
    storm program(rt, o);
    const auto all = program.create<storm_chare>(chares, resident::placement::round_robin);
    const auto sum = program.make_host_mailbox<std::uint64_t>();
    co_await program.start();
    co_await program.broadcast(all, entry<&host::begin>, rounds);
    co_await program.quiescence();
    co_await program.broadcast(all, entry<&host::tell>, sum);
    EXPECT_EQ(co_await program.receive(sum), expected);
    co_await program.quiescence();
    program.stop();
    const resident::end_report report = co_await program.ended();
    EXPECT_EQ(report.left, 0u);
    EXPECT_EQ(report.entries_run,
              std::uint64_t(rounds) * chares * (chares + 1) + std::uint64_t(chares) * 3);
  };
  run_with({.devices = 2, .schedulers = 3, .ring_slots = 1}, body);
  run_with({.ranks = 3, .schedulers = 2, .ring_slots = 1}, body);
}

}  // namespace
}  // namespace starling_test
