// SPDX-License-Identifier: Apache-2.0
// Threads that send while another thread closes the connections, which takes long where a rank does
// not answer.
#include "transports.hpp"

namespace {

using namespace starling_test;
using starling::message;

class threads_of_a_rank : public with_ranks {};
INSTANTIATE_TEST_SUITE_P(settings, threads_of_a_rank,
                         testing::Values(setting{transport_kind::ucx, 2}), name_of);

/// Rank 1 fetches nothing of what rank 0 sends, so that the end of rank 0's connection waits.
TEST_P(threads_of_a_rank, send_while_the_connections_are_closed) {
  std::atomic<bool> is_closed{false};
  run([&](transport& t) {
    if (t.rank() == 1) {
      while (!is_closed.load()) std::this_thread::yield();
      return t.cancel_transfers();
    }
    std::atomic<bool> closes{false}, has_sent{false};
    std::vector<double> memory(1 << 20);
    counted_transfer given(1, 7, memory);
    std::thread sender([&] {
      while (!closes.load()) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) {
        t.send(1, 3, message(8));
        static_cast<void>(t.is_congested(1));
        static_cast<void>(t.in_flight());
      }
      t.start_send(given);
      has_sent.store(true);
    });
    t.send(1, 3, message(std::size_t{2} << 20));  // to be fetched by the other rank
    closes.store(true);
    t.cancel_transfers();
    EXPECT_TRUE(has_sent.load());
    is_closed.store(true);
    sender.join();
    while (t.progress() || !given.is_over.load()) {
    }
    EXPECT_EQ(t.in_flight(), 0U);
  });
}

}  // namespace
