// SPDX-License-Identifier: Apache-2.0
// The ways of messages to an element that has migrated to another rank, message by message: one
// more hop until the first message is answered, none afterwards.
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "moved.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::moved;

constexpr int ranks = 4;

/// Counts the messages to migrated elements on each connection, also those that are forwarded.
class counted_ways {
 public:
  [[nodiscard]] std::unique_ptr<transport> tap(std::unique_ptr<transport> t) {
    return std::make_unique<end>(std::move(t), *this);
  }
  /// Returns the connections that had such messages since the last call, "from-to" or, for several
  /// messages, "from-to: number".
  [[nodiscard]] std::vector<std::string> taken() {
    std::vector<std::string> all;
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t to = 0; to < ranks; ++to) {
        const int n = m_messages[from][to].exchange(0);
        if (n == 0) continue;
        all.push_back(std::to_string(from) + "-" + std::to_string(to));
        if (n > 1) all.back() += ": " + std::to_string(n);
      }
    return all;
  }

 private:
  class end final : public starling_test::tapped_transport {
   public:
    end(std::unique_ptr<transport> inner, counted_ways& of)
        : tapped_transport(std::move(inner), [](message m) { return m; }), m_of(of) {}
    void send(int to, unsigned number, message m) override {
      detail::remote_header h{};
      if (m.size() >= sizeof h) std::memcpy(&h, m.data(), sizeof h);
      if (h.size == m.size() && h.function == detail::number_of_call<detail::remote_tracked<moved>>)
        ++m_of.m_messages[std::size_t(rank())][std::size_t(to)];
      tapped_transport::send(to, number, std::move(m));
    }

   private:
    counted_ways& m_of;
  };
  std::array<std::array<std::atomic<int>, ranks>, ranks> m_messages{};
};

using ways = std::vector<std::string>;

/// Sends to an element, from the rank of a group's element.
struct sender : chare<sender> {
  task<int> ask(element<moved> e) { co_return co_await e.call<&moved::place>(); }
};

/// Runs a task on rank 0 of four ranks with one worker each. The elements have their homes there.
void run_counted(task<> (*body)(chare_array<moved>, counted_ways&)) {
  counted_ways counted;
  const auto main = [&counted, body](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "counts the hops of messages");
    const auto all = create_array<moved>(rt, ranks, placement::block);
    co_await quiescence();
    co_await body(all, counted);
    co_return 0;
  };
  const auto ends = cluster{ranks, 1}.run(
      main, [&counted](std::unique_ptr<transport> t) { return counted.tap(std::move(t)); });
  for (const auto& end : ends) EXPECT_EQ(end.status, 0) << cluster::text_of(end);
}

/// Calls the element twenty times, each time after the answer of the call before.
task<> expect_direct(element<moved> e, int at, counted_ways& counted) {
  for (int n = 0; n < 20; ++n) EXPECT_EQ(co_await e.call<&moved::place>(), at);
  EXPECT_EQ(counted.taken(), ways{"0-" + std::to_string(at) + ": 20"});
}

TEST(hops, are_two_for_the_first_message_after_a_migration_and_one_for_later_ones) {
  run_counted([](chare_array<moved> all, counted_ways& counted) -> task<> {
    const auto e = all[1];
    e.invoke<&moved::go>(2);
    co_await quiescence();
    EXPECT_EQ(counted.taken(), ways{}) << "the element had not migrated";
    EXPECT_EQ(co_await e.call<&moved::place>(), 2);
    EXPECT_EQ(counted.taken(), (ways{"0-1", "1-2"})) << "by way of the home";
    co_await expect_direct(e, 2, counted);

    e.invoke<&moved::go>(3);
    co_await quiescence();
    EXPECT_EQ(counted.taken(), ways{"0-2"});
    EXPECT_EQ(co_await e.call<&moved::place>(), 3);
    EXPECT_EQ(counted.taken(), (ways{"0-2", "2-3"})) << "by way of the former rank";
    co_await expect_direct(e, 3, counted);

    e.invoke<&moved::go>(1);
    co_await quiescence();
    EXPECT_EQ(counted.taken(), ways{"0-3"});
    EXPECT_EQ(co_await e.call<&moved::place>(), 1);
    EXPECT_EQ(counted.taken(), (ways{"0-3", "3-1"})) << "the element is at home again";
    co_await expect_direct(e, 1, counted);
  });
}

TEST(hops, are_two_for_each_message_until_the_first_one_is_answered) {
  run_counted([](chare_array<moved> all, counted_ways& counted) -> task<> {
    const auto e = all[1];
    for (const int at : {2, 3}) {
      e.invoke<&moved::go>(at);
      co_await quiescence();
      static_cast<void>(counted.taken());
      for (int n = 0; n < 100; ++n)
        e.invoke<&moved::nothing>();  // no answer is processed meanwhile
      EXPECT_EQ(co_await e.call<&moved::place>(), at);
      EXPECT_EQ(counted.taken(),
                (at == 2 ? ways{"0-1: 101", "1-2: 101"} : ways{"0-2: 101", "2-3: 101"}));
      co_await expect_direct(e, at, counted);
    }
  });
}

TEST(hops, are_counted_by_each_sender_and_each_priority_for_itself) {
  run_counted([](chare_array<moved> all, counted_ways& counted) -> task<> {
    const auto e = all[1];
    const auto senders = create_group<sender>(*runtime::current());
    e.invoke<&moved::go>(2);
    co_await quiescence();
    EXPECT_EQ(co_await e.call<&moved::place>(), 2);
    EXPECT_EQ(counted.taken(), (ways{"0-1", "1-2"}));
    EXPECT_EQ(co_await all.urgent()[1].call<&moved::place>(), 2);
    EXPECT_EQ(counted.taken(), (ways{"0-1", "1-2"})) << "the other priority";
    EXPECT_EQ(co_await all.urgent()[1].call<&moved::place>(), 2);
    EXPECT_EQ(counted.taken(), ways{"0-2"});
    EXPECT_EQ(co_await senders[3].call<&sender::ask>(e), 2);
    EXPECT_EQ(counted.taken(), (ways{"1-2", "3-1"})) << "the other sender";
    EXPECT_EQ(co_await senders[3].call<&sender::ask>(e), 2);
    EXPECT_EQ(counted.taken(), ways{"3-2"});
    EXPECT_EQ(co_await senders[1].call<&sender::ask>(e), 2);
    EXPECT_EQ(counted.taken(), ways{"1-2"}) << "the home is the sender";
    EXPECT_EQ(co_await senders[2].call<&sender::ask>(e), 2);
    EXPECT_EQ(counted.taken(), (ways{"1-2", "2-1"})) << "the sender has the element, and asks";
    EXPECT_EQ(co_await senders[2].call<&sender::ask>(e), 2);
    EXPECT_EQ(counted.taken(), ways{});
  });
}

}  // namespace
}  // namespace starling
