// SPDX-License-Identifier: Apache-2.0
// exit_run on another rank than 0: its status is that of all ranks, in whichever order the messages
// that end the run arrive.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;

std::atomic<bool> is_leaving{false};
std::atomic<int> ends_sent{0};

/// Rank 0's connections. Of the messages that end the run on rank 1, the first one is sent after
/// the second one.
class swapped_ends final : public starling_test::tapped_transport {
 public:
  explicit swapped_ends(std::unique_ptr<transport> inner)
      : tapped_transport(std::move(inner), [](message m) { return m; }) {}
  void send(int to, unsigned number, message m) override {
    if (to != 1 || !is_leaving.load() || !may_be_end(m))
      return tapped_transport::send(to, number, std::move(m));
    const std::lock_guard lock(m_mutex);
    const int sent = ends_sent.load();
    if (sent == 0) {
      m_first.emplace(number, std::move(m));
    } else {
      tapped_transport::send(to, number, std::move(m));
      if (m_first) tapped_transport::send(to, m_first->first, std::move(m_first->second));
      m_first.reset();
    }
    ends_sent.store(sent + 1);
  }

 private:
  /// Neither counted nor a wave of the detector of quiescence, which has two numbers.
  static bool may_be_end(const message& m) {
    detail::remote_header h{};
    if (m.size() < sizeof h) return false;
    std::memcpy(&h, m.data(), sizeof h);
    return h.is_counted == 0 && m.size() != sizeof h + 2 * sizeof(std::uint64_t);
  }
  std::mutex m_mutex;
  std::optional<std::pair<unsigned, message>> m_first;
};

struct leaver : chare<leaver> {
  /// Ends the run until rank 0 has sent its end twice: each further end is answered.
  void leave(int status) {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    is_leaving.store(true);
    while (ends_sent.load() < 2 && std::chrono::steady_clock::now() < latest) {
      exit_run(status);
      std::this_thread::yield();
    }
  }
};

TEST(exit_of_ranks, has_the_status_of_the_first_end_if_a_repeated_message_comes_first) {
  for (const int status : {0, 3}) {
    is_leaving.store(false);
    ends_sent.store(0);
    const auto main = [status](runtime& rt) -> task<int> {
      const auto all = create_array<leaver>(rt, 2, placement::block);
      all[1].invoke<&leaver::leave>(status);
      co_await quiescence();
      co_return 1;
    };
    const auto ends = cluster{2, 1}.run(main, [](std::unique_ptr<transport> t) {
      if (t->rank() != 0) return t;
      return std::unique_ptr<transport>(std::make_unique<swapped_ends>(std::move(t)));
    });
    EXPECT_GE(ends_sent.load(), 2);
    for (const auto& end : ends) EXPECT_EQ(end.status, status);
  }
}

}  // namespace
}  // namespace starling
