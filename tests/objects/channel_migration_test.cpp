// SPDX-License-Identifier: Apache-2.0
// Channels whose ends migrate: order and identity of all data, what delays a departure, ends that
// are made again, destruction.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;
using starling_test::options_with;
using starling_test::over_ucx;
using starling_test::stay_in_place;

class channels_of_migrating_elements : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_of_migrating_elements,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 3}, cluster{1, 4},
                                         cluster{2, 1}, cluster{2, 2}, cluster{3, 1},
                                         cluster{3, 1, "refuse"}, cluster{2, 1, "stage"},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);
class channels_between_ranks : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_between_ranks,
                         testing::Values(cluster{3, 1}, cluster{3, 1, "refuse"},
                                         cluster{3, 1, "stage"}, over_ucx({3, 1})),
                         starling_test::ranks_name);
class channels_within_a_rank : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, channels_within_a_rank, testing::Values(cluster{1, 2}, cluster{1, 3}),
                         starling_test::ranks_name);

/// Returns the data that are sent as number `n`: a few values, or more than a message takes along.
std::vector<int> data_of(int n) {
  std::vector<int> values(n % 5 == 4 ? 3000 : 40);
  std::iota(values.begin(), values.end(), n * 10'000);
  return values;
}

/// One of two elements that send each other numbered data of all kinds of memory.
struct pal : chare<pal> {
  pal() { connect(); }
  explicit pal(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_channel, m_heard, m_given, m_taken, m_migrations);
  }
  void connect() { m_channel = {*this, this_array()[this_index() ^ 1]}; }
  void disconnect() { m_channel = {}; }

  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  void after_migration() { ++m_migrations; }

  /// Sends the next `count` numbers, by turns from host memory and from that of a stream.
  void give(int count) {
    for (int i = 0; i < count; ++i) {
      const int n = m_given++;
      const std::vector<int>& values = m_kept.emplace_back(data_of(n));
      if (n % 2 == 0) {
        m_channel.post(values);
        continue;
      }
      auto& memory = m_memory.emplace_back(
          at().device().allocate<int>(memory_kind::pinned, values.size(), at()));
      at().copy(memory, values);
      m_channel.post(memory.span(), at());
    }
  }
  /// Receives `count` numbers, by turns into host memory, in the order of a stream, and borrowed.
  task<> take(int count) {
    for (int i = 0; i < count; ++i) {
      const int n = m_taken++;
      const int way = n % 3;
      m_heard.resize(std::size_t(m_taken));
      std::vector<int> values(data_of(n).size());
      if (way == 0) {
        co_await m_channel.receive(values);
      } else if (way == 1) {
        co_await m_channel.receive(values, at());
        co_await at().completion();
      } else {
        const borrowed<int> lent = co_await m_channel.borrow(at(), values.size());
        at().copy(values, lent.span());
        co_await at().completion();
      }
      m_heard[std::size_t(n)] = values;
    }
  }
  /// Whether the data received are those of the numbers from 0 to `count` − 1, in order.
  bool has_all_in_order(int count) const {
    if (m_heard.size() != std::size_t(count)) return false;
    for (int n = 0; n < count; ++n)
      if (m_heard[std::size_t(n)] != data_of(n)) return false;
    return true;
  }
  std::string heard() const {
    std::string text;
    for (const auto& values : m_heard)
      text += (values.empty() ? "-" : std::to_string(values[0] / 10'000)) + " ";
    return text;
  }

  void begin_send() {
    m_kept.push_back(data_of(m_given++));
    m_begun.emplace(m_channel.send(m_kept.back()));
  }
  void begin_receive() {
    m_kept.emplace_back(data_of(0).size());
    m_begun.emplace(m_channel.receive(m_kept.back()));
  }
  task<> end_receive() {
    co_await *std::exchange(m_begun, std::nullopt);
    m_heard.push_back(m_kept.back());
  }
  task<bool> is_cancelled() {
    std::vector<int> values(1);
    try {
      co_await m_channel.receive(values);
    } catch (const operation_cancelled&) {
      co_return true;
    }
    co_return false;
  }
  task<> begin_offer(element<pal> to) {
    m_kept.push_back(data_of(m_given++));
    auto offered = offer(*this, to, std::span(m_kept.back()));
    to.invoke<&pal::take_offer>(m_given - 1, offered.memory);
    co_await std::move(offered.sent);
  }
  task<> take_offer(int n, offered<int> memory) {
    std::vector<int> values(memory.size());
    co_await memory.receive(*this, std::span(values));
    m_heard.resize(std::max(m_heard.size(), std::size_t(n) + 1));
    m_heard[std::size_t(n)] = values;
  }

 private:
  stream& at() {
    if (!m_at) m_at.emplace(devices(*runtime::current()).here().make_stream());
    return *m_at;
  }
  std::optional<stream> m_at;
  std::deque<std::vector<int>> m_kept;
  std::deque<buffer<int>> m_memory;
  chare_channel<int> m_channel;
  std::optional<channel_wait> m_begun;
  std::vector<std::vector<int>> m_heard;
  int m_given = 0;
  int m_taken = 0;
  int m_migrations = 0;
};

TEST_P(channels_of_migrating_elements, keep_all_data_in_order_while_both_ends_migrate) {
  const int workers = int(GetParam().workers) * GetParam().ranks;
  int migrations = 0;
  for (unsigned seed = 0; seed < unsigned(many(20, 3)); ++seed) {
    const auto both = create_array<pal>(rt, 2, placement::round_robin);
    const auto run = [](chare_array<pal> a, int w, unsigned by) -> task<int> {
      std::mt19937 random(by);
      std::array<int, 2> given{}, taken{};
      for (int step = 0; step < 200; ++step) {
        const int i = int(random() % 2), k = int(random() % 3);
        const int what = int(random() % 4);
        if (what == 0) {
          a[i].invoke<&pal::give>(k);
          given[std::size_t(i)] += k;
        } else if (what == 1) {
          a[i].invoke<&pal::take>(k);
          taken[std::size_t(i)] += k;
        } else {
          a[i].invoke<&pal::go>(int(random() % unsigned(w)));
        }
        if (random() % 8 == 0) co_await yield();
      }
      for (const int i : {0, 1}) {
        const int missing = given[std::size_t(i)] - taken[std::size_t(1 - i)];
        if (missing > 0)
          a[1 - i].invoke<&pal::take>(missing);
        else
          a[i].invoke<&pal::give>(-missing);
      }
      co_await quiescence();
      int count_of_migrations = 0;
      for (const int i : {0, 1}) {
        const int count = std::max(given[std::size_t(1 - i)], taken[std::size_t(i)]);
        const bool is_right = co_await a[i].call<&pal::has_all_in_order>(count);
        EXPECT_TRUE(is_right) << "seed " << by << ", element " << i << ": "
                              << co_await a[i].call<&pal::heard>();
        count_of_migrations += co_await a[i].call<&pal::migrations>();
      }
      a.destroy();
      co_await quiescence();
      co_return count_of_migrations;
    };
    migrations += rt.sync_wait(run(both, workers, seed));
  }
  if (workers > 1) {
    EXPECT_GT(migrations, 0);
  }
}

task<int> place_after(chare_array<pal> a, int i, int to) {
  a[i].invoke<&pal::go>(to);
  co_await quiescence();
  co_return co_await a[i].call<&pal::place>();
}
task<std::string> heard_by(chare_array<pal> a, int i) {
  co_await quiescence();
  co_return co_await a[i].call<&pal::heard>();
}

TEST_P(channels_within_a_rank, a_send_in_progress_delays_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::begin_send>();
    EXPECT_EQ((co_await place_after(a, 0, 1)), 0);
    a[1].invoke<&pal::take>(1);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 ");
    EXPECT_EQ((co_await a[0].call<&pal::place>()), 1);
  }(both));
}

TEST_P(channels_within_a_rank, a_receive_that_has_begun_moves_with_its_element) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::begin_receive>();
    EXPECT_EQ((co_await place_after(a, 0, 1)), 1);
    a[1].invoke<&pal::give>(1);
    a[0].invoke<&pal::end_receive>();
    EXPECT_EQ((co_await heard_by(a, 0)), "0 ");
  }(both));
}

TEST_P(channels_within_a_rank, data_that_wait_for_a_receive_move_with_its_element) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(3);
    co_await quiescence();
    EXPECT_EQ((co_await place_after(a, 1, 0)), 0);
    EXPECT_EQ((co_await place_after(a, 0, 1)), 1);
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(5);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 ");
  }(both));
}

TEST_P(channels_within_a_rank, ends_may_be_made_again_after_a_migration) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(2);
    co_await quiescence();
    for (const int i : {0, 1}) a[i].invoke<&pal::go>(1 - i);
    co_await quiescence();
    a[1].invoke<&pal::disconnect>();
    co_await quiescence();
    a[0].invoke<&pal::give>(2);  // for an end that does not exist
    co_await quiescence();
    a[1].invoke<&pal::connect>();
    a[0].invoke<&pal::give>(1);
    a[0].invoke<&pal::disconnect>();
    a[0].invoke<&pal::connect>();
    a[0].invoke<&pal::give>(2);
    a[1].invoke<&pal::take>(5);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 5 6 ");
  }(both));
}

TEST_P(channels_within_a_rank, offers_without_a_channel_find_their_element) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (int n = 0; n < 20; ++n) {
      for (const int i : {0, 1}) a[i].invoke<&pal::go>(n / (i + 1) % 2);
      co_await a[0].call<&pal::begin_offer>(a[1]);
    }
    const bool is_right = co_await a[1].call<&pal::has_all_in_order>(20);
    EXPECT_TRUE(is_right) << co_await a[1].call<&pal::heard>();
  }(both));
}

TEST_P(channels_within_a_rank, end_their_waits_when_a_migrated_element_is_destroyed) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::go>(1);
    co_await quiescence();
    auto cancelled = a[0].call<&pal::is_cancelled>();
    a[0].destroy();
    EXPECT_TRUE(co_await std::move(cancelled));
  }(both));
}

TEST_P(channels_within_a_rank, data_that_a_destroyed_migrated_element_leaves_are_an_error) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<pal> a) -> task<> {
      a[1].invoke<&pal::go>(0);
      a[0].invoke<&pal::give>(1);
      co_await quiescence();
      a[1].destroy();
      co_await quiescence();
    }(both));
  });
  EXPECT_NE(text.find("pal[1].channel: destroyed with a message"), std::string::npos) << text;
}

task<> wake(chare_array<pal> a, int i) {
  co_await a[i].call<&pal::take>(0);  // the end of a coroutine is an occasion to depart
  co_await quiescence();
}

TEST_P(channels_between_ranks, follow_their_elements_from_rank_to_rank) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    constexpr int each = 6;  // numbers of all kinds of memory
    int given = 0;
    for (const auto& [first, second] : {std::pair(0, 1), {2, 1}, {2, 0}, {1, 1}, {0, 2}, {0, 1}}) {
      const int to[] = {first, second};
      for (const int i : {0, 1}) {
        const int at = co_await place_after(a, i, to[i]);
        EXPECT_EQ(at, to[i]);
      }
      for (const int i : {0, 1}) a[i].invoke<&pal::give>(each);
      for (const int i : {0, 1}) a[i].invoke<&pal::take>(each);
      co_await quiescence();
      given += each;
      for (const int i : {0, 1}) {
        const bool is_right = co_await a[i].call<&pal::has_all_in_order>(given);
        EXPECT_TRUE(is_right) << co_await a[i].call<&pal::heard>();
      }
    }
  }(both));
}

TEST_P(channels_between_ranks, data_that_the_partner_has_not_read_delay_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (const int to : {1, 2}) {  // the sender is on the rank of the receiver first
      a[0].invoke<&pal::give>(6);
      const int before = co_await a[0].call<&pal::place>();
      EXPECT_EQ((co_await place_after(a, 0, to)), before);
      a[1].invoke<&pal::take>(6);
      co_await quiescence();
      co_await wake(a, 0);
      EXPECT_EQ((co_await a[0].call<&pal::place>()), to);
    }
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 2 3 4 5 6 7 8 9 10 11 ");
  }(both));
}

TEST_P(channels_between_ranks, data_that_wait_for_a_receive_delay_the_departure) {
  stay_in_place(rt, "names the workers");
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    a[0].invoke<&pal::give>(2);
    co_await quiescence();
    EXPECT_EQ((co_await place_after(a, 1, 2)), 1);
    a[1].invoke<&pal::take>(2);
    EXPECT_EQ((co_await heard_by(a, 1)), "0 1 ");
    EXPECT_EQ((co_await a[1].call<&pal::place>()), 2);
  }(both));
}

TEST_P(channels_between_ranks, offers_without_a_channel_find_their_element) {
  const auto both = create_array<pal>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<pal> a) -> task<> {
    for (int n = 0; n < 15; ++n) {
      for (const int i : {0, 1}) a[i].invoke<&pal::go>((n + n / 3 * i) % 3);
      co_await a[0].call<&pal::begin_offer>(a[1]);
    }
    co_await quiescence();
    const bool is_right = co_await a[1].call<&pal::has_all_in_order>(15);
    EXPECT_TRUE(is_right) << co_await a[1].call<&pal::heard>();
  }(both));
}

/// Data that take two ways: element 0 sends them to element 1, by way of a home that `detour` keeps
/// from running, and from its next worker directly.
struct racer : chare<racer> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void greet(element<racer> to) { to.urgent().invoke<&racer::nothing>(); }
  void nothing() {}
  void start() {
    send();
    migrate_to(2);
  }
  void after_migration() {
    if (m_sent == 0) return;
    send();
    this_array()[1].urgent().invoke<&racer::open>();  // behind the data
  }
  void open() {
    is_open = true;
    is_open.notify_all();
  }
  task<std::vector<int>> receive(int count) {
    std::vector<int> values(static_cast<std::size_t>(count));
    for (int& value : values) co_await m_channel.receive(std::span(&value, 1));
    co_return values;
  }
  static inline std::atomic<bool> is_open{false};

 private:
  void send() {
    m_channel.post(std::span(&m_values[std::size_t(m_sent)], 1));
    ++m_sent;
  }
  std::array<int, 2> m_values{10, 11};
  int m_sent = 0;
  chare_channel<int> m_channel{*this, this_array()[this_index() ^ 1]};
};
struct detour : chare<detour> {
  void hold(element<racer> sender) {
    sender.invoke<&racer::start>();
    racer::is_open.wait(false);
  }
};

TEST(channels_of_migrating_elements, hold_data_that_overtake_earlier_ones) {
  runtime rt(options_with(4));
  stay_in_place(rt, "names the workers");
  racer::is_open = false;
  const auto racers = create_array<racer>(rt, 4, placement::round_robin);
  const auto detours = create_array<detour>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<racer> a, chare_array<detour> d) -> task<> {
    a[1].invoke<&racer::go>(3);
    co_await quiescence();
    for (int i = 0; i < 2; ++i) {  // worker 2 learns where element 1 is
      a[2].invoke<&racer::greet>(a[1]);
      co_await quiescence();
    }
    d[1].invoke<&detour::hold>(a[0]);
    const auto received = co_await a[1].call<&racer::receive>(2);
    EXPECT_EQ(received, (std::vector<int>{10, 11}));
  }(racers, detours));
}

}  // namespace
}  // namespace starling
