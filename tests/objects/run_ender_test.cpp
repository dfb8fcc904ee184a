// SPDX-License-Identifier: Apache-2.0
// The run ender, a thread that makes progress on the network while all workers are busy.
#include "objects/run_ender.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "cluster.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::options_with;
using starling_test::tapped_transport;

class counting_transport final : public tapped_transport {
 public:
  counting_transport()
      : tapped_transport(loopback_network(1).connect(0), [](message m) { return m; }) {}
  bool progress() noexcept override {
    ++polls;
    return tapped_transport::progress();
  }
  std::atomic<int> polls{0};
};

/// A rank whose only worker is busy during the lifetime of this object.
class busy_rank {
 public:
  busy_rank() {
    rt.post([](std::atomic<bool>& busy, std::atomic<bool>& over) -> task<> {
      busy = true;
      while (!over) std::this_thread::yield();
      co_return;
    }(m_is_busy, m_is_over));
    while (!m_is_busy) std::this_thread::yield();
  }
  ~busy_rank() { m_is_over = true; }

 private:
  std::atomic<bool> m_is_busy{false};
  std::atomic<bool> m_is_over{false};

 public:
  runtime rt{options_with(1)};
};

// Earlier progress would accept messages before those that arrived while the ranks met.
TEST(progress_beside_busy_workers, begins_when_the_job_accepts_messages) {
  busy_rank rank;
  counting_transport network;
  detail::run_ender ender(rank.rt.service<detail::object_space>(), network,
                          std::chrono::milliseconds(0));
  for (int i = 0; i < 10000; ++i) std::this_thread::yield();  // time for wrong polls
  EXPECT_EQ(network.polls, 0);
  ender.watch_workers();
  while (network.polls < 10) std::this_thread::yield();
}

}  // namespace
}  // namespace starling
