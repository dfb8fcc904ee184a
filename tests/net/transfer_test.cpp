// SPDX-License-Identifier: Apache-2.0
// Memory transfers: the tests that every transport must pass.
#include <numeric>

#include "../core/environment.hpp"
#include "transports.hpp"

namespace starling {
namespace {

using starling_test::counted_transfer;
using starling_test::drive;

class transfers : public starling_test::with_ranks {};
INSTANTIATE_TEST_SUITE_P(on, transfers, starling_test::all_settings, starling_test::name_of);

TEST_P(transfers, move_memory_to_the_receive_with_its_tag) {
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
      // Some receives are started before the send, and not in the order of the sends.
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

TEST_P(transfers, report_another_size_to_the_receiver) {
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

TEST_P(transfers, can_be_cancelled_by_the_receiver) {
  run([](transport& t) {
    const int right = (t.rank() + 1) % t.size(), left = (t.rank() + t.size() - 1) % t.size();
    std::vector<double> out(20, 1.0), in(20), unused(20);
    counted_transfer never(left, 4, unused);
    t.start_receive(never);
    t.cancel_receive(never);
    drive(t, [&] { return never.is_over.load(); });
    EXPECT_THROW(std::rethrow_exception(never.error), operation_cancelled);
    t.finish();
    // The next receive with this tag gets the sent memory.
    counted_transfer sent(right, 4, out), received(left, 4, in);
    t.start_send(sent);
    t.start_receive(received);
    drive(t, [&] { return sent.is_over.load() && received.is_over.load(); });
    EXPECT_EQ(received.error, nullptr);
    EXPECT_EQ(in, out);
    EXPECT_EQ(unused, std::vector<double>(20));
    t.finish();
  });
}

TEST_P(transfers, without_a_sender_end_when_they_are_cancelled) {
  run([](transport& t) {
    const int right = (t.rank() + 1) % t.size(), left = (t.rank() + t.size() - 1) % t.size();
    std::vector<double> out(300'000, 1.0), in(20);
    counted_transfer sent(right, 5, out), received(left, 6, in);
    t.start_send(sent);
    t.start_receive(received);
    t.finish();  // does not wait for them
    t.cancel_transfers();
    drive(t, [&] { return sent.is_over.load() && received.is_over.load(); });
    EXPECT_THROW(std::rethrow_exception(received.error), operation_cancelled);
    EXPECT_EQ(t.in_flight(), 0u);
    if (std::string(t.name()) != "ucx") return;
    // As by threads that have not seen the end; no thread makes progress for them.
    counted_transfer late(right, 7, in);
    t.start_send(late);
    EXPECT_TRUE(late.is_over.load());
    EXPECT_THROW(std::rethrow_exception(late.error), operation_cancelled);
  });
}

// UCX cannot cancel a receive of which a part has arrived.
TEST_P(transfers, that_are_cancelled_in_flight_leave_memory_unchanged) {
  const starling_test::variable in_pieces("UCX_TLS", "tcp,self");
  const bool is_seen_coming = GetParam().kind == transport_kind::ucx;
  const std::size_t n = 4'000'000;
  const std::vector<double> untouched(n, 7.0);
  std::vector<std::vector<double>> in(std::size_t(GetParam().ranks), std::vector<double>(n));
  std::atomic<bool> has_one_ended{false};
  run([&](transport& t) {
    t.set_failure_handler([](void*, const rank_failure&) noexcept {}, nullptr);
    const int right = (t.rank() + 1) % t.size(), left = (t.rank() + t.size() - 1) % t.size();
    std::vector<double> out(n, 1.0);
    std::vector<double>& here = in[std::size_t(t.rank())];
    const volatile double& first = here.front();
    counted_transfer sent(right, 5, out), received(left, 5, here);
    t.start_send(sent);
    t.start_receive(received);
    const auto is_coming = [&] { return is_seen_coming && first == 1.0; };
    drive(t, [&] { return is_coming() || received.is_over.load() || has_one_ended.load(); });
    has_one_ended = true;
    t.cancel_transfers();
    drive(t, [&] { return sent.is_over.load() && received.is_over.load(); });
    here = untouched;
    for (int i = 0; i < 1000; ++i) t.progress();
  });
  for (const auto& each : in) EXPECT_EQ(each, untouched);
}

TEST_P(transfers, reuse_a_transfer_in_the_other_direction) {
  run([](transport& t) {
    const int other = t.size() == 1 ? 0 : t.rank() ^ 1;
    std::vector<double> memory(10, t.rank());
    for (const bool sends_first : {true, false}) {
      if (t.size() == 1) break;
      counted_transfer both(other, 3, memory);
      for (const bool sends :
           {sends_first == (t.rank() % 2 == 0), sends_first != (t.rank() % 2 == 0)}) {
        both.is_over = false;
        if (sends)
          t.start_send(both);
        else
          t.start_receive(both);
        drive(t, [&] { return both.is_over.load(); });
        EXPECT_EQ(both.error, nullptr);
      }
    }
    t.finish();
    EXPECT_EQ(t.in_flight(), 0u);
  });
}

TEST_P(transfers, are_refused_for_ranks_and_tags_that_do_not_exist) {
  run([](transport& t) {
    std::vector<double> memory(1);
    counted_transfer nowhere(t.size(), 0, memory), untagged(0, transfer::tag_limit, memory);
    EXPECT_THROW(t.start_send(nowhere), usage_error);
    EXPECT_THROW(t.start_receive(nowhere), usage_error);
    EXPECT_THROW(t.start_send(untagged), usage_error);
    t.finish();
  });
}

TEST(loopback, reports_an_ended_rank_to_the_remaining_ranks) {
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
