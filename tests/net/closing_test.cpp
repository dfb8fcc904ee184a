// SPDX-License-Identifier: Apache-2.0
// Threads that send while another thread closes the connections, which takes long if a rank does
// not respond.
#include "transports.hpp"

namespace {

using namespace starling_test;
using starling::message;

class threads_of_a_rank : public with_ranks {};
INSTANTIATE_TEST_SUITE_P(settings, threads_of_a_rank,
                         testing::Values(setting{transport_kind::ucx, 2}), name_of);

/// Rank 1 fetches no message of rank 0, so that the end of rank 0's connection waits. Returns
/// whether the sending thread finished before that end.
bool sends_while_closing(transport& t, std::atomic<bool>& is_closed) {
  if (t.rank() == 1) {
    while (!is_closed.load()) std::this_thread::yield();
    t.cancel_transfers();
    return false;
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
  const bool was_through = has_sent.load();
  is_closed.store(true);
  sender.join();
  while (t.progress() || !given.is_over.load()) {
  }
  EXPECT_EQ(t.in_flight(), 0U);
  return was_through;
}

TEST_P(threads_of_a_rank, send_while_the_connections_are_closed) {
  bool was_through = false;
  // More than once, as the sender may have no core until the connections are closed.
  for (int attempt = 0; attempt < 5 && !was_through; ++attempt) {
    std::atomic<bool> is_closed{false};
    run([&](transport& t) {
      if (sends_while_closing(t, is_closed)) was_through = true;
    });
  }
  EXPECT_TRUE(was_through) << "sending waits until the connections are closed";
}

}  // namespace
