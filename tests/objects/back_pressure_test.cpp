// SPDX-License-Identifier: Apache-2.0
// Back-pressure: senders that wait for slow receivers.
#include <algorithm>

#include "cluster.hpp"
#include "core/environment.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::over_ucx;

constexpr auto room = std::uint64_t(detail::job::room_for_messages);

struct sink : chare<sink> {
  awaited item(long n);
  task<long> take(long count) {
    long sum = 0;
    for (; count > 0; --count) sum += co_await when<&sink::item>();
    co_return sum;
  }
  long kept() {
    long n = 0;
    element_state().mail.for_each_kept([&n](const auto&) { ++n; });
    return n;
  }
  void add(long n) { m_sum += n; }
  long sum() const { return m_sum; }

 private:
  long m_sum = 0;
};

struct source : chare<source> {
  task<> send_awaited(element<sink> to, long count) {
    for (long i = 0; i < count; ++i) {
      co_await to.ready();
      to.invoke<&sink::item>(i);
      note(to);
    }
  }
  task<> send_plain(element<sink> to, long count) {
    for (long i = 0; i < count; ++i) {
      co_await to.ready();
      to.invoke<&sink::add>(i);
      note(to);
    }
  }
  void send_heedlessly(element<sink> to, long count) {
    for (long i = 0; i < count; ++i) to.invoke<&sink::item>(i);
  }
  /// Returns the largest number of bytes in flight.
  std::uint64_t most() const { return m_most; }

 private:
  void note(const element<sink>& to) {
    if (to.home() == nullptr)
      m_most = std::max(m_most, detail::require_job().outstanding(int(to.index())));
  }
  std::uint64_t m_most = 0;
};

long sum_below(long n) { return n * (n - 1) / 2; }

class back_pressure : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, back_pressure,
                         testing::Values(cluster{2, 1}, cluster{2, 2}, over_ucx({2, 1})),
                         starling_test::cluster_name);

TEST_P(back_pressure, holds_a_flood_back_until_it_is_received) {
  const long count = many(300'000, 100'000);
  all.expect(0, [=](runtime& rt) -> task<int> {
    const auto sinks = create_rank_group<sink>(rt);
    const auto sources = create_rank_group<source>(rt);
    sources[1].invoke<&source::send_awaited>(sinks[0], count);
    co_await quiescence();  // the sender is held back: no message moves
    const long kept = co_await sinks[0].call<&sink::kept>();
    const bool is_held_back = kept > 1000 && kept < count / 2;
    const bool is_all = co_await sinks[0].call<&sink::take>(count) == sum_below(count);
    const std::uint64_t most = co_await sources[1].call<&source::most>();
    co_return (is_held_back ? 0 : 1) + (is_all ? 0 : 2) + (most <= room + 1000 ? 0 : 4);
  });
}

TEST_P(back_pressure, lets_ranks_flood_each_other) {
  const long count = many(100'000, 50'000);
  all.expect(0, [=](runtime& rt) -> task<int> {
    const auto sinks = create_rank_group<sink>(rt);
    const auto sources = create_rank_group<source>(rt);
    std::vector<future<>> ends;
    for (int r = 0; r < 2; ++r) {
      ends.push_back(sources[r].call<&source::send_plain>(sinks[1 - r], count));
      ends.push_back(sources[r].call<&source::send_awaited>(sinks[1 - r], count));
    }
    int wrong = 0;
    for (int r = 0; r < 2; ++r)
      wrong += co_await sinks[r].call<&sink::take>(count) != sum_below(count);
    for (auto& end : ends) co_await std::move(end);
    co_await quiescence();
    for (int r = 0; r < 2; ++r) {
      wrong += co_await sinks[r].call<&sink::sum>() != sum_below(count);
      wrong += co_await sources[r].call<&source::most>() > room + 1000;
    }
    co_return wrong;
  });
}

TEST_P(back_pressure, does_not_apply_within_a_rank) {
  all.expect(0, [=](runtime& rt) -> task<int> {
    const auto sinks = create_rank_group<sink>(rt);
    const auto sources = create_rank_group<source>(rt);
    co_await sources[1].call<&source::send_awaited>(sinks[1], 100'000L);
    co_return co_await sinks[1].call<&sink::kept>() == 100'000 ? 0 : 1;
  });
}

TEST_P(back_pressure, that_will_never_end_is_a_hang) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto sinks = create_rank_group<sink>(rt);
    const auto sources = create_rank_group<source>(rt);
    co_await sources[1].call<&source::send_awaited>(sinks[0], 1'000'000L);
    co_return 0;
  });
  const std::string text =
      starling_test::message_of<hang_error>([&] { std::rethrow_exception(ends.front().error); });
  EXPECT_NE(text.find("room for more messages to rank 0"), std::string::npos) << text;
}

TEST_P(back_pressure, has_a_limit_for_senders_that_ignore_it) {
  const starling_test::variable limit("STARLING_SEND_LIMIT", "16");
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto sinks = create_rank_group<sink>(rt);
    const auto sources = create_rank_group<source>(rt);
    sources[1].invoke<&source::send_heedlessly>(sinks[0], 1'000'000L);
    promise<> never;
    co_await never.get_future();
    co_return 0;
  });
  const std::string text =
      starling_test::message_of<entry_error>([&] { std::rethrow_exception(ends.front().error); });
  EXPECT_NE(text.find("rank 0 has not worked off 16 MiB of messages"), std::string::npos) << text;
}

}  // namespace
}  // namespace starling
