// SPDX-License-Identifier: Apache-2.0
// Messages to an element that has migrated to another rank than that of its sender and its home:
// destruction behind messages of both priorities, and the hints that answer forwarded messages.
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "moved.hpp"
#include "on_ranks.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::moved;

class destruction : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, destruction,
                         testing::Values(cluster{1, 2}, cluster{1, 4}, cluster{2, 2}, cluster{3, 1},
                                         cluster{5, 2}),
                         starling_test::ranks_name);

/// Each way of the sender's urgent messages: `urgent_first`: they know the location; `is_open`: so
/// do those of normal priority.
task<> call_and_destroy(element<moved> e, element<moved> urgent, int workers, bool urgent_first,
                        bool is_open) {
  const int at = co_await e.call<&moved::place>();
  e.invoke<&moved::go>((at + 1) % workers);
  co_await quiescence();
  if (urgent_first) static_cast<void>(co_await urgent.call<&moved::place>());
  if (is_open) static_cast<void>(co_await e.call<&moved::place>());
  if (urgent_first != is_open) e.invoke<&moved::go>((at + 2) % workers);
  std::vector<future<int>> places;
  for (int n = 0; n < 10; ++n) places.push_back(urgent.call<&moved::place>());
  for (int n = 0; n < 3; ++n) places.push_back(e.call<&moved::place>());
  e.destroy();
  for (future<int>& p : places) EXPECT_LT(co_await std::move(p), workers);
  co_await quiescence();
  EXPECT_THROW(co_await urgent.call<&moved::place>(), no_such_element);
}

TEST_P(destruction, follows_the_urgent_messages_of_its_sender) {
  const int workers = int(total_worker_count(rt));
  for (int round = 0; round < many(30, 8); ++round) {
    const auto all = create_array<moved>(rt, workers, placement::round_robin);
    rt.sync_wait(rt.on_worker(0).spawn([](chare_array<moved> all, int workers,
                                          int round) -> task<> {
      for (int i = 0; i < workers; ++i)
        co_await call_and_destroy(all[i], all.urgent()[i], workers, round % 2 == 0, round % 4 < 2);
    }(all, workers, round)));
  }
}

/// Counts the hints that each rank receives.
struct counted_hints {
  std::array<std::atomic<int>, 3> of{};
  [[nodiscard]] std::unique_ptr<transport> count(std::unique_ptr<transport> t) {
    std::atomic<int>& mine = of[std::size_t(t->rank())];
    return std::make_unique<starling_test::tapped_transport>(std::move(t), [&mine](message m) {
      detail::remote_header h;
      if (m.size() < sizeof h) return m;
      std::memcpy(&h, m.data(), sizeof h);
      if (h.size == m.size() && h.function == detail::number_of_call<detail::remote_hint<moved>>)
        ++mine;
      return m;
    });
  }
};

/// Sends many messages before the first of them is answered.
void send_many(const element<moved>& to) {
  for (int n = 0; n < 100; ++n) to.invoke<&moved::nothing>();
}

TEST(hints, go_to_each_sender_once_for_each_location) {
  counted_hints hints;
  const auto main = [&hints](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "counts hints");
    auto& to_sender = hints.of[0];
    const auto all = create_array<moved>(rt, 3, placement::block);
    all[1].invoke<&moved::go>(2);
    co_await quiescence();
    to_sender = 0;
    send_many(all[1]);
    co_await quiescence();
    EXPECT_EQ(to_sender, 1);
    send_many(all[1]);
    co_await quiescence();
    EXPECT_EQ(to_sender, 1) << "the location is known";
    send_many(all.urgent()[1]);
    co_await quiescence();
    EXPECT_EQ(to_sender, 2) << "the other priority";
    all[1].invoke<&moved::go>(1);
    co_await quiescence();
    send_many(all[1]);
    co_await quiescence();
    EXPECT_EQ(to_sender, 3) << "another location";
    co_return 0;
  };
  const auto ends = cluster{3, 1}.run(
      main, [&hints](std::unique_ptr<transport> t) { return hints.count(std::move(t)); });
  for (const auto& end : ends) EXPECT_EQ(end.status, 0) << cluster::text_of(end);
}

}  // namespace
}  // namespace starling
