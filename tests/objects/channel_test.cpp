// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::message_of;
using starling_test::on_ranks;
using starling_test::options_with;

class chare_channels : public on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, chare_channels, starling_test::some_ranks, starling_test::ranks_name);
/// Not between ranks: a sender is not notified of the fate of a small message to another rank.
class chare_channels_on_one_rank : public chare_channels {};
INSTANTIATE_TEST_SUITE_P(on, chare_channels_on_one_rank, starling_test::one_rank,
                         starling_test::ranks_name);

/// Returns the values that a round sends.
std::vector<double> pattern(int round, std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1000.0 * round);
  return values;
}

enum class memory { host, device };

/// Two partners send each other data, in all combinations of memories.
struct partner : chare<partner> {
  partner() : m_channel(*this, this_array()[1 - this_index()]) {}

  task<> send(memory from, int rounds, std::size_t n) {
    stream at = devices(*runtime::current()).here().make_stream();
    auto sent = at.device().allocate<double>(memory_kind::pinned, n, at);
    std::vector<std::vector<double>> kept;  // until the stream has copied them
    for (int r = 0; r < rounds; ++r) {
      const std::vector<double>& values = kept.emplace_back(pattern(r, n));
      if (from == memory::host) {
        co_await m_channel.send(values);
        continue;
      }
      at.copy(sent, values);  // overwrites the data of the previous round
      co_await m_channel.send(sent.span(), at);
    }
    co_await at.completion();
  }

  task<int> receive(memory into, int rounds, std::size_t n) {
    stream at = devices(*runtime::current()).here().make_stream();
    auto received = at.device().allocate<double>(memory_kind::pinned, n, at);
    int right = 0;
    for (int r = 0; r < rounds; ++r) {
      if (into == memory::host) {
        co_await m_channel.receive(received.span());
      } else {
        co_await m_channel.receive(received.span(), at);
        co_await at.completion();
      }
      right += std::ranges::equal(received.span(), pattern(r, n));
    }
    co_return right;
  }

  task<int> borrow(int rounds, std::size_t n) {
    stream at = devices(*runtime::current()).here().make_stream();
    auto copy = at.device().allocate<double>(memory_kind::pinned, n, at);
    int right = 0;
    for (int r = 0; r < rounds; ++r) {
      {
        const borrowed<double> lent = co_await m_channel.borrow(at, n);
        at.copy(copy, lent.span());
      }
      co_await at.completion();
      right += std::ranges::equal(copy.span(), pattern(r, n));
    }
    co_return right;
  }

  /// The stream, the borrowed memory and the coroutine's frame are destroyed together.
  task<double> borrow_first(std::size_t n) {
    stream at = devices(*runtime::current()).here().make_stream();
    auto first = at.device().allocate<double>(memory_kind::pinned, 1, at);
    const borrowed<double> lent = co_await m_channel.borrow(at, n);
    at.copy(first, lent.span().first(1));
    co_await at.completion();
    co_return first.span().front();
  }
  task<> send_one(std::vector<double> values) { co_await m_channel.send(values); }
  task<> receive_one(std::size_t n) {
    std::vector<double> values(n);
    co_await m_channel.receive(values);
  }
  void make_another_end() { chare_channel<double>(*this, this_array()[1 - this_index()]); }

 private:
  chare_channel<double> m_channel;
};

TEST_P(chare_channels, deliver_in_order_between_all_kinds_of_memory) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    constexpr int rounds = 20;
    for (const memory from : {memory::host, memory::device})
      for (const memory into : {memory::host, memory::device}) {
        auto sent = a[0].call<&partner::send>(from, rounds, 300);
        EXPECT_EQ((co_await a[1].call<&partner::receive>(into, rounds, 300)), rounds);
        co_await std::move(sent);
      }
  }(both));
}

TEST_P(chare_channels, lend_memory_until_it_is_given_back) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    for (const memory from : {memory::host, memory::device}) {
      auto sent = a[1].call<&partner::send>(from, 20, 77);
      EXPECT_EQ((co_await a[0].call<&partner::borrow>(20, 77)), 20);
      co_await std::move(sent);
    }
  }(both));
}

TEST_P(chare_channels, lend_memory_to_a_receiver_that_ends_at_once) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    for (int i = 0; i < 10; ++i) {
      auto first = a[0].call<&partner::borrow_first>(std::size_t(5));
      co_await a[1].call<&partner::send_one>(std::vector<double>(5, i));
      EXPECT_EQ(co_await std::move(first), i);
    }
  }(both));
}

TEST_P(chare_channels, go_both_ways_at_once) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    auto out = a[0].call<&partner::send>(memory::device, 10, 50);
    auto back = a[1].call<&partner::send>(memory::host, 10, 60);
    auto here = a[0].call<&partner::receive>(memory::device, 10, 60);
    EXPECT_EQ((co_await a[1].call<&partner::receive>(memory::host, 10, 50)), 10);
    EXPECT_EQ(co_await std::move(here), 10);
    co_await std::move(out);
    co_await std::move(back);
  }(both));
}

TEST_P(chare_channels_on_one_rank, report_different_sizes_to_both_ends) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    auto sent = a[0].call<&partner::send_one>(std::vector<double>(3));
    auto received = a[1].call<&partner::receive_one>(4);
    for (auto* f : {&sent, &received}) {
      std::string text;
      try {
        co_await std::move(*f);
      } catch (const usage_error& e) {
        text = e.what();
      }
      EXPECT_EQ(text,
                "channel 0 of partner[1] to partner[0]: 24 bytes were sent where 32 are to "
                "be received");
    }
  }(both));
}

TEST_P(chare_channels, refuse_a_second_end_with_the_same_number) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  EXPECT_THROW(rt.sync_wait(both[0].call<&partner::make_another_end>()), usage_error);
}

TEST_P(chare_channels, are_named_by_the_hang_diagnosis) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  const std::string text =
      message_of<hang_error>([&] { rt.sync_wait(both[1].call<&partner::receive_one>(4)); });
  EXPECT_NE(text.find("channel 0 of partner[1] to partner[0]: receive"), text.npos) << text;
}

TEST_P(chare_channels_on_one_rank, end_their_waits_when_their_chare_is_destroyed) {
  const auto both = create_array<partner>(rt, 2, placement::round_robin);
  rt.sync_wait([](chare_array<partner> a) -> task<> {
    auto received = a[1].call<&partner::receive_one>(4);
    a[1].destroy();
    bool cancelled = false;
    try {
      co_await std::move(received);
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    bool missing = false;
    try {
      co_await a[0].call<&partner::send_one>(std::vector<double>(4));
    } catch (const no_such_element&) {
      missing = true;
    }
    EXPECT_TRUE(missing);
  }(both));
}

/// Creates its channels only when it is asked to.
struct late : chare<late, std::string> {
  void make(std::string peer, int id) {
    m_channels.push_back(std::make_unique<chare_channel<int>>(*this, this_array()[peer], id));
  }
  task<> send(std::size_t channel, std::vector<int> values) {
    co_await m_channels[channel]->send(values);
  }
  task<int> receive(std::size_t channel) {
    std::vector<int> values(2);
    co_await m_channels[channel]->receive(values);
    co_return values[0] + values[1];
  }

 private:
  std::vector<std::unique_ptr<chare_channel<int>>> m_channels;
};

TEST_P(chare_channels, keep_data_that_arrive_before_their_end_is_made) {
  const auto all = create_sparse_array<late>(rt);
  rt.sync_wait([](chare_array<late> a) -> task<> {
    a.insert("left");
    for (const int id : {0, 1}) a["left"].invoke<&late::make>("right", id);
    auto first = a["left"].call<&late::send>(std::size_t{1}, std::vector<int>{1, 2});
    auto second = a["left"].call<&late::send>(std::size_t{0}, std::vector<int>{10, 20});
    auto third = a["left"].call<&late::send>(std::size_t{1}, std::vector<int>{100, 200});
    auto fourth = a["left"].call<&late::send>(std::size_t{0}, std::vector<int>{1000, 2000});
    a.insert("right");
    for (const int id : {0, 1}) a["right"].invoke<&late::make>("left", id);
    EXPECT_EQ((co_await a["right"].call<&late::receive>(std::size_t{0})), 30);
    EXPECT_EQ((co_await a["right"].call<&late::receive>(std::size_t{1})), 3);
    EXPECT_EQ((co_await a["right"].call<&late::receive>(std::size_t{1})), 300);
    EXPECT_EQ((co_await a["right"].call<&late::receive>(std::size_t{0})), 3000);
    for (auto* sent : {&first, &second, &third, &fourth}) co_await std::move(*sent);
  }(all));
}

/// Owns device memory until it is destroyed.
struct keeper : chare<keeper> {
  void take() {
    device& d = devices(*runtime::current()).here();
    m_memory = d.allocate<double>(memory_kind::device, 100);
    m_stream = d.make_stream();
    m_stream.fill(m_memory, 1.0);
  }

 private:
  buffer<double> m_memory;
  stream m_stream;
};

TEST(chares_older_than_the_devices, may_keep_device_memory) {
  runtime rt(options_with(2));
  const auto all = create_array<keeper>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<keeper> a) -> task<> {
    for (int i = 0; i < 4; ++i) co_await a[i].call<&keeper::take>();
  }(all));
}

}  // namespace
}  // namespace starling
