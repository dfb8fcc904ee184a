// SPDX-License-Identifier: Apache-2.0
// Channels between chares of different ranks.
#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include <starling/device.hpp>

#include "cluster.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::on_clusters;
using starling_test::over_ucx;

class channels_of_ranks : public on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, channels_of_ranks,
                         testing::Values(cluster{1, 2}, cluster{2, 1}, cluster{2, 2}, cluster{3, 1},
                                         cluster{5, 2}, cluster{2, 1, "refuse"},
                                         cluster{2, 1, "stage"}, cluster{3, 2, "stage"},
                                         over_ucx({2, 2}), over_ucx({3, 1})),
                         starling_test::cluster_name);

std::vector<double> pattern(int round, int channel, std::size_t n) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = 1000.0 * round + 100.0 * channel + double(i % 91);
  return values;
}

enum class memory { host, stream, borrowed, posted };

/// Elements in a ring: each has two channels to its successor and two to its predecessor.
struct partner : chare<partner> {
  explicit partner(int n) : m_at(devices(*runtime::current()).here().make_stream()) {
    const int next = (this_index() + 1) % n, before = (this_index() + n - 1) % n;
    for (int id = 0; id < 2; ++id) {
      m_next.push_back(std::make_unique<chare_channel<double>>(*this, this_array()[next],
                                                               2 * this_index() + id));
      m_before.push_back(
          std::make_unique<chare_channel<double>>(*this, this_array()[before], 2 * before + id));
    }
  }

  task<> send(memory how, int rounds, std::size_t n) {
    std::vector<buffer<double>> kept;  // a posted send does not report that it was read
    for (int r = 0; r < rounds; ++r)
      for (int id = 0; id < 2; ++id) {
        const auto values = pattern(r, id, n);
        chare_channel<double>& to = *m_next[std::size_t(id)];
        if (how == memory::host) {
          co_await to.send(values);
          continue;
        }
        if (kept.empty() || how == memory::posted)
          kept.push_back(m_at.device().allocate<double>(memory_kind::pinned, n, m_at));
        std::ranges::copy(values, kept.back().span().begin());
        if (how == memory::posted)
          to.post(kept.back().span(), m_at);
        else
          co_await to.send(kept.back().span(), m_at);
        co_await m_at.completion();
      }
    m_posted.insert(m_posted.end(), std::make_move_iterator(kept.begin()),
                    std::make_move_iterator(kept.end()));
  }
  task<int> receive(memory how, int rounds, std::size_t n) {
    auto into = m_at.device().allocate<double>(memory_kind::pinned, n, m_at);
    int right = 0;
    for (int r = 0; r < rounds; ++r)
      for (int id = 0; id < 2; ++id) {
        auto& from = *m_before[std::size_t(id)];
        if (how == memory::host) {
          co_await from.receive(into.span());
        } else if (how == memory::borrowed) {
          const borrowed<double> lent = co_await from.borrow(m_at, n);
          m_at.copy(into, lent.span());
        } else {
          co_await from.receive(into.span(), m_at);
        }
        co_await m_at.completion();
        right += std::ranges::equal(into.span(), pattern(r, id, n));
      }
    co_return right;
  }
  void nothing() {}
  task<> send_values(std::vector<double> values) { co_await m_next[0]->send(values); }
  task<> send_by_stream(std::size_t n) {
    auto values = m_at.device().allocate<double>(memory_kind::pinned, n, m_at);
    m_at.fill(values, 1.0);
    co_await m_next[0]->send(values.span(), m_at);
    co_await m_at.completion();
  }
  task<> receive_by_stream(std::size_t n) {
    auto values = m_at.device().allocate<double>(memory_kind::device, n, m_at);
    co_await m_before[0]->receive(values.span(), m_at);
    co_await m_at.completion();
  }
  task<> receive_values(std::size_t n) {
    std::vector<double> values(n);
    co_await m_before[0]->receive(values);
  }

 private:
  stream m_at;
  std::vector<buffer<double>> m_posted;
  std::vector<std::unique_ptr<chare_channel<double>>> m_next, m_before;
};

TEST_P(channels_of_ranks, bring_memory_between_all_kinds_of_memory) {
  all.expect(0, [](runtime& rt) -> task<int> {
    constexpr int n = 6, rounds = 3;
    constexpr std::size_t inside = detail::most_inside / sizeof(double);
    const auto ring = create_array<partner>(rt, n, placement::round_robin, n);
    int wrong = 0;
    for (const memory from : {memory::host, memory::stream, memory::posted})
      for (const memory to : {memory::host, memory::stream, memory::borrowed})
        for (const std::size_t size :
             {std::size_t(0), std::size_t(1), inside, inside + 1, std::size_t(100'000)}) {
          if (from == memory::posted && to == memory::host) continue;  // combination not supported
          std::vector<future<int>> right;
          for (int i = 0; i < n; ++i)
            right.push_back(ring[i].call<&partner::receive>(to, rounds, size));
          std::vector<future<>> sent;
          for (int i = 0; i < n; ++i)
            sent.push_back(ring[i].call<&partner::send>(from, rounds, size));
          for (auto& r : right) wrong += co_await std::move(r) != 2 * rounds;
          for (auto& s : sent) co_await std::move(s);
        }
    co_return wrong;
  });
}

/// The second receive is smaller if it uses pinned memory.
TEST_P(channels_of_ranks, bring_memory_in_pieces) {
  all.expect(0, [](runtime& rt) -> task<int> {
    constexpr std::size_t size = 600'001;
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    int wrong = 0;
    for (const memory to : {memory::host, memory::stream, memory::borrowed}) {
      auto sent = pair[0].call<&partner::send>(memory::stream, 1, size);
      wrong += co_await pair[1].call<&partner::receive>(to, 1, size) != 2;
      co_await std::move(sent);
    }
    co_return wrong;
  });
}

TEST_P(channels_of_ranks, keep_data_that_are_sent_before_they_are_awaited) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    auto sent = pair[0].call<&partner::send>(memory::host, 2, std::size_t(500));
    const int right = co_await pair[1].call<&partner::receive>(memory::host, 2, std::size_t(500));
    co_await std::move(sent);
    co_return right - 4;
  });
}

/// One end sends `sends` values where the peer receives 20; returns whether that is refused.
task<bool> is_refused(chare_array<partner> pair, std::size_t sends) {
  auto sent = pair[0].call<&partner::send_values>(std::vector<double>(sends, 1.0));
  bool refused = false;
  try {
    co_await pair[1].call<&partner::receive_values>(std::size_t(20));
  } catch (const usage_error&) {
    refused = true;
  }
  try {
    co_await std::move(sent);  // a sender on another rank may not be notified of it
  } catch (const usage_error&) {
  }
  co_return refused;
}

TEST_P(channels_of_ranks, refuse_another_size) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    co_return co_await is_refused(pair, 10) ? 0 : 1;
  });
}

TEST_P(channels_of_ranks, refuse_another_size_of_data_larger_than_a_message) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    const bool refused = co_await is_refused(pair, 50'000);
    // The channel remains usable for the next transfer.
    auto again = pair[0].call<&partner::send_values>(std::vector<double>(60'000, 2.0));
    co_await pair[1].call<&partner::receive_values>(std::size_t(60'000));
    co_await std::move(again);
    co_return refused ? 0 : 1;
  });
}

TEST_P(channels_of_ranks, refuse_another_size_without_memory_for_it) {
  constexpr std::size_t sends = 500'000;
  std::atomic<std::size_t> most{0};
  const auto ends = all.run(
      [](runtime& rt) -> task<int> {
        const auto pair = create_array<partner>(rt, 2, placement::block, 2);
        co_return co_await is_refused(pair, sends) ? 0 : 1;
      },
      [&](std::unique_ptr<transport> t) {
        return std::make_unique<starling_test::tapped_transport>(
            std::move(t), [](message m) { return m; }, [](const message&) {},
            [&](const transfer& t) { most.store(std::max(most.load(), t.bytes)); });
      });
  for (const cluster::end& each : ends) EXPECT_EQ(each.status, 0) << cluster::text_of(each);
  EXPECT_LT(most.load(), sends * sizeof(double));
}

TEST_P(channels_of_ranks, refuse_another_size_of_data_sent_in_pieces) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    auto sent = pair[0].call<&partner::send_by_stream>(std::size_t(1'000'000));
    int refused = 0;
    try {
      co_await pair[1].call<&partner::receive_by_stream>(std::size_t(300'000));
    } catch (const usage_error&) {
      ++refused;
    }
    try {
      co_await std::move(sent);
    } catch (const usage_error&) {
    }
    auto again = pair[0].call<&partner::send_by_stream>(std::size_t(300'000));
    co_await pair[1].call<&partner::receive_by_stream>(std::size_t(300'000));
    co_await std::move(again);
    co_return refused - 1;
  });
}

/// Destroys the receiver at different stages of the transfer.
TEST_P(channels_of_ranks, end_receives_in_pieces_of_a_destroyed_chare) {
  all.expect(0, [](runtime& rt) -> task<int> {
    for (int trips = 0; trips < 8; ++trips) {
      const auto pair = create_array<partner>(rt, 2, placement::block, 2);
      auto sent = pair[0].call<&partner::send_by_stream>(std::size_t(1'000'000));
      auto received = pair[1].call<&partner::receive_by_stream>(std::size_t(1'000'000));
      co_await std::move(sent);  // the offer is in flight
      for (int i = 0; i <= trips; ++i) co_await pair[1].call<&partner::nothing>();
      pair[1].destroy();
      try {
        co_await std::move(received);
      } catch (const operation_cancelled&) {
      }
    }
    co_return 0;
  });
}

TEST_P(channels_of_ranks, end_receives_of_a_destroyed_chare) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    auto received = pair[1].call<&partner::receive_values>(std::size_t(20));
    co_await quiescence();
    pair[1].destroy();
    try {
      co_await std::move(received);
      co_return 1;
    } catch (const operation_cancelled&) {
    }
    co_return 0;
  });
}

TEST_P(channels_of_ranks, with_unmatched_operations_do_not_hold_up_the_end) {
  all.expect(5, [](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    std::vector<future<>> lost;
    for (const std::size_t n : {std::size_t(10), std::size_t(500'000)})
      lost.push_back(pair[0].call<&partner::send_values>(std::vector<double>(n, 1.0)));
    auto never = pair[0].call<&partner::receive_values>(std::size_t(30));
    for (int i = 0; i < 3; ++i) co_await pair[1].call<&partner::nothing>();
    exit_run(5);
    co_return 0;
  });
}

TEST_P(channels_of_ranks, with_unmatched_operations_are_a_hang) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto pair = create_array<partner>(rt, 2, placement::block, 2);
    co_await pair[1].call<&partner::receive_values>(std::size_t(20));
    co_return 0;
  });
  const std::string text =
      starling_test::message_of<hang_error>([&] { std::rethrow_exception(ends.front().error); });
  EXPECT_NE(text.find("channel 0 of partner[1] to partner[0]: receive"), std::string::npos) << text;
}

}  // namespace
}  // namespace starling
