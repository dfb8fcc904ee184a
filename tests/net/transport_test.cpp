// SPDX-License-Identifier: Apache-2.0
// What every transport does.
#include <poll.h>
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "ranks.hpp"

namespace starling {
namespace {

using starling_test::drive;
using starling_test::run_ranks;

struct setting {
  transport_kind kind;
  int ranks;
};

std::string name_of(const testing::TestParamInfo<setting>& i) {
  return std::string(i.param.kind == transport_kind::ucx ? "ucx_" : "loopback_") +
         std::to_string(i.param.ranks) + "_ranks";
}

class transports : public testing::TestWithParam<setting> {
 protected:
  void SetUp() override {
    if (GetParam().kind != transport_kind::ucx) return;
    try {
      starling_test::thread_group group(1);
      starling_test::thread_bootstrap alone(group, 0, 1);
      static_cast<void>(make_transport(alone, transport_kind::ucx));
    } catch (const backend_unavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
  void run(const std::function<void(transport&)>& body, const transport::options& o = {}) const {
    run_ranks(GetParam().kind, GetParam().ranks, body, o);
  }
};

INSTANTIATE_TEST_SUITE_P(
    on, transports,
    testing::Values(setting{transport_kind::loopback, 1}, setting{transport_kind::loopback, 2},
                    setting{transport_kind::loopback, 4}, setting{transport_kind::ucx, 1},
                    setting{transport_kind::ucx, 2}, setting{transport_kind::ucx, 4}),
    name_of);

/// A message that says which of its sender it is; its other bytes follow from that.
message numbered(std::uint32_t thread, std::uint32_t number, std::size_t size) {
  message m(std::max(size, 2 * sizeof(std::uint32_t)));
  std::memcpy(m.data(), &thread, sizeof thread);
  std::memcpy(m.data() + sizeof thread, &number, sizeof number);
  for (std::size_t i = 2 * sizeof number; i < m.size(); ++i)
    m.data()[i] = static_cast<std::byte>(number + i);
  return m;
}

/// Counts messages that are right and in order, for each rank and thread that sends.
struct inspector {
  static void take(void* self, int from, message m) noexcept {
    static_cast<inspector*>(self)->look_at(from, m);
  }
  void look_at(int from, const message& m) {
    std::uint32_t thread = 0, number = 0;
    ASSERT_GE(m.size(), 2 * sizeof number);
    std::memcpy(&thread, m.data(), sizeof thread);
    std::memcpy(&number, m.data() + sizeof thread, sizeof number);
    EXPECT_EQ(number, (next[{from, thread}]++)) << "from rank " << from;
    for (std::size_t i = 2 * sizeof number; i < m.size(); ++i)
      if (m.data()[i] != static_cast<std::byte>(number + i)) {
        ADD_FAILURE() << "byte " << i << " of " << m.size() << " is wrong";
        break;
      }
    ++count;
  }
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> next;
  std::size_t count = 0;
};

TEST_P(transports, bring_messages_of_any_size_in_order) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(3, &inspector::take, &seen);
    std::mt19937 random(7);
    const std::size_t sizes[] = {8, 64, 1000, 9000, 70'000, 1'200'000};
    constexpr std::uint32_t messages = 120;
    for (std::uint32_t i = 0; i < messages; ++i)
      for (int to = 0; to < t.size(); ++to)
        t.send(to, 3, numbered(0, i, sizes[random() % std::size(sizes)]));
    t.finish();
    drive(t, [&] { return seen.count == messages * std::size_t(t.size()); });
    EXPECT_EQ(t.in_flight(), 0u);
  });
}

TEST_P(transports, bring_messages_without_bytes) {
  run([](transport& t) {
    int come = 0;
    const auto count = [](void* n, int, message m) noexcept {
      EXPECT_EQ(m.size(), 0u);
      ++*static_cast<int*>(n);
    };
    t.set_handler(0, count, &come);
    for (int to = 0; to < t.size(); ++to) t.send(to, 0, message());
    drive(t, [&] { return come == t.size(); });
    t.finish();
  });
}

TEST_P(transports, keep_the_order_of_each_thread_that_sends) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(0, &inspector::take, &seen);
    constexpr std::uint32_t threads = 3, messages = 2000;
    std::vector<std::thread> senders;
    for (std::uint32_t n = 0; n < threads; ++n)
      senders.emplace_back([&t, n] {
        for (std::uint32_t i = 0; i < messages; ++i)
          t.send((t.rank() + 1) % t.size(), 0, numbered(n, i, 8 + i % 50));
      });
    drive(t, [&] { return seen.count == threads * messages; });
    for (std::thread& s : senders) s.join();
    t.finish();
  });
}

TEST_P(transports, let_handlers_answer) {
  struct player {
    transport* t;
    int hits = 0;
    static void hit(void* self, int from, message m) noexcept {
      auto& p = *static_cast<player*>(self);
      if (++p.hits < 2000) p.t->send(from, 5, std::move(m));
    }
  };
  run([](transport& t) {
    player p{&t};
    t.set_handler(5, &player::hit, &p);
    t.send((t.rank() + 1) % t.size(), 5, message(16));  // each rank serves
    if (t.size() == 2)
      drive(t, [&] { return p.hits >= 2000; });
    else
      drive(t, [&] { return p.hits >= 1; });
    t.finish();
  });
}

/// Keeps what comes until it is told to let it go.
struct hoarder {
  static void take(void* self, int, message m) noexcept {
    auto& h = *static_cast<hoarder*>(self);
    h.bytes += m.size();
    h.most = std::max(h.most, h.bytes);
    h.kept.push_back(std::move(m));
    ++h.count;
  }
  void let_go() {
    for (const message& m : kept) bytes -= m.size();
    kept.clear();
  }
  std::vector<message> kept;
  std::size_t bytes = 0, most = 0, count = 0;
};

TEST_P(transports, hold_up_who_sends_more_than_is_worked_off) {
  constexpr std::size_t window = 64 * 1024, messages = 5000, size = 200;
  transport::options o;
  o.window = window;
  run(
      [](transport& t) {
        hoarder h;
        t.set_handler(0, &hoarder::take, &h);
        if (t.rank() != 0 || t.size() == 1) {
          if (t.size() > 1 && t.rank() == 1) {
            for (std::size_t i = 0; i < messages; ++i) t.send(0, 0, message(size));
            EXPECT_TRUE(t.is_congested(0));
            drive(t, [&] { return !t.is_congested(0); });
          }
          return t.finish();
        }
        // What fits the window comes, and no more while nothing is let go.
        std::size_t before = 0;
        while (h.count < messages) {
          drive(t, [&] { return h.count > before; });
          for (int quiet = 0; quiet < 1000; ++quiet) static_cast<void>(t.progress());
          before = h.count;
          h.let_go();
        }
        EXPECT_LE(h.most, window + window / 4);
        EXPECT_GT(h.most, 0u);
        t.finish();
      },
      o);
}

TEST_P(transports, bring_a_message_larger_than_the_window) {
  transport::options o;
  o.window = 1024;
  run(
      [](transport& t) {
        inspector seen;
        t.set_handler(0, &inspector::take, &seen);
        for (std::uint32_t i = 0; i < 5; ++i)
          for (int to = 0; to < t.size(); ++to) t.send(to, 0, numbered(0, i, 300'000));
        drive(t, [&] { return seen.count == 5u * std::size_t(t.size()); });
        t.finish();
      },
      o);
}

struct counted_transfer : transfer {
  static void count(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<counted_transfer&>(t);
    self.error = std::move(error);
    self.is_over.store(true);
  }
  counted_transfer(int to, std::uint64_t with_tag, std::vector<double>& memory) {
    peer = to;
    tag = with_tag;
    data = memory.data();
    bytes = memory.size() * sizeof(double);
    done = &count;
  }
  std::exception_ptr error;
  std::atomic<bool> is_over{false};
};

TEST_P(transports, move_memory_to_where_its_tag_is_awaited) {
  run([](transport& t) {
    const int right = (t.rank() + 1) % t.size(), left = (t.rank() + t.size() - 1) % t.size();
    for (const std::size_t n : {0, 1, 500, 20'000, 300'000}) {
      std::vector<double> out[3], in[3];
      std::vector<std::unique_ptr<counted_transfer>> all;
      for (std::uint64_t tag = 0; tag < 3; ++tag) {
        out[tag].resize(n);
        in[tag].resize(n);
        std::iota(out[tag].begin(), out[tag].end(), double(t.rank() * 10 + int(tag)));
      }
      // Some are awaited before they are sent, and not in their order.
      const auto receive = [&](std::uint64_t tag) {
        all.push_back(std::make_unique<counted_transfer>(left, tag, in[tag]));
        t.start_receive(*all.back());
      };
      receive(2);
      for (std::uint64_t tag = 0; tag < 3; ++tag) {
        all.push_back(std::make_unique<counted_transfer>(right, tag, out[tag]));
        t.start_send(*all.back());
      }
      receive(0);
      receive(1);
      for (const auto& a : all) {
        drive(t, [&] { return a->is_over.load(); });
        EXPECT_EQ(a->error, nullptr);
      }
      for (std::uint64_t tag = 0; tag < 3; ++tag) {
        std::vector<double> wanted(n);
        std::iota(wanted.begin(), wanted.end(), double(left * 10 + int(tag)));
        EXPECT_EQ(in[tag], wanted) << n;
      }
    }
    t.finish();
  });
}

TEST_P(transports, tell_who_receives_that_another_size_was_sent) {
  run([](transport& t) {
    const int right = (t.rank() + 1) % t.size(), left = (t.rank() + t.size() - 1) % t.size();
    for (const std::size_t wanted : {10, 30}) {
      std::vector<double> out(20), in(wanted);
      counted_transfer sent(right, 9, out), received(left, 9, in);
      t.start_send(sent);
      t.start_receive(received);
      drive(t, [&] { return sent.is_over.load() && received.is_over.load(); });
      try {
        ASSERT_NE(received.error, nullptr);
        std::rethrow_exception(received.error);
      } catch (const usage_error& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(wanted * sizeof(double)) +
                                             " are to be received"),
                  std::string::npos)
            << e.what();
      }
    }
    t.finish();
  });
}

TEST_P(transports, refuse_ranks_handlers_and_tags_that_do_not_exist) {
  run([](transport& t) {
    EXPECT_THROW(t.send(-1, 0, message(1)), usage_error);
    EXPECT_THROW(t.send(t.size(), 0, message(1)), usage_error);
    EXPECT_THROW(t.send(0, transport::handler_limit, message(1)), usage_error);
    std::vector<double> memory(1);
    counted_transfer nowhere(t.size(), 0, memory), untagged(0, transfer::tag_limit, memory);
    EXPECT_THROW(t.start_send(nowhere), usage_error);
    EXPECT_THROW(t.start_receive(nowhere), usage_error);
    EXPECT_THROW(t.start_send(untagged), usage_error);
    t.finish();
  });
}

TEST_P(transports, finish_as_often_as_all_want_behind_all_that_was_sent) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(0, &inspector::take, &seen);
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (int to = 0; to < t.size(); ++to)
        if (to != t.rank()) t.send(to, 0, numbered(0, round, 100 + 5000 * (round % 3)));
      t.finish();
      EXPECT_GE(seen.count, (round + 1) * std::size_t(t.size() - 1));
    }
  });
}

TEST_P(transports, wake_who_sleeps) {
  run([](transport& t) {
    int come = 0;
    t.set_handler(
        0, [](void* n, int, message) noexcept { ++*static_cast<int*>(n); }, &come);
    if (t.event_descriptor() < 0 || t.size() == 1) return t.finish();
    for (int round = 0; round < 50; ++round) {
      if (t.rank() == 0) {
        for (int to = 1; to < t.size(); ++to) t.send(to, 0, message(round % 2 == 0 ? 8 : 50'000));
        drive(t, [&] { return come == (round + 1) * (t.size() - 1); });
        continue;
      }
      while (come == round) {
        while (t.progress()) {
        }
        if (come != round || !t.arm()) continue;
        pollfd fd{t.event_descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&fd, 1, 20'000), 1) << "nobody woke rank " << t.rank();
      }
      t.send(0, 0, message(8));
    }
    t.finish();
  });
}

TEST(loopback, tells_the_others_of_a_rank_that_has_gone) {
  loopback_network network(3);
  const auto a = network.connect(0), b = network.connect(1), c = network.connect(2);
  std::vector<int> lost;
  const auto note = [](void* to, const rank_failure& f) noexcept {
    static_cast<std::vector<int>*>(to)->push_back(f.rank());
  };
  std::vector<int> lost_by_other;
  a->set_failure_handler(note, &lost);
  b->set_failure_handler(note, &lost_by_other);
  std::vector<double> memory(4);
  counted_transfer send(2, 1, memory), receive(2, 1, memory), other(1, 1, memory);
  a->start_send(send);
  a->start_receive(receive);
  a->start_receive(other);
  network.kill(2);
  while (a->progress()) {
  }
  EXPECT_EQ(lost, std::vector<int>{2});
  EXPECT_TRUE(send.is_over && receive.is_over && !other.is_over);
  for (const auto& error : {send.error, receive.error})
    EXPECT_THROW(std::rethrow_exception(error), rank_failure);
  a->send(2, 0, message(1));  // dropped
  EXPECT_EQ(a->in_flight(), 0u);
  counted_transfer late(2, 1, memory);
  a->start_receive(late);
  while (a->progress()) {
  }
  EXPECT_TRUE(late.is_over);
  EXPECT_THROW(a->finish(), rank_failure);
  counted_transfer last(0, 1, memory);
  b->start_send(last);
  drive(*a, [&] { return other.is_over.load(); });
  EXPECT_EQ(other.error, nullptr);
  drive(*b, [&] { return last.is_over.load(); });
  EXPECT_EQ(lost_by_other, lost);
}

}  // namespace
}  // namespace starling
