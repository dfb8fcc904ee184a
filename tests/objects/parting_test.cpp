// SPDX-License-Identifier: Apache-2.0
// `run` returns when nobody uses the network any more: its owner may destroy it then.
#include <atomic>
#include <thread>

#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/remote.hpp>

#include "cluster.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::options_with;
using starling_test::tapped_transport;
using starling_test::thread_network;

thread_local bool is_sender = false;

/// Whoever sends looks around for long on the way.
struct slow_way {
  std::atomic<bool> has_begun{false}, run_is_over{false};
  bool was_left_alone = false;  // when it was through
  void operator()(const message&) {
    if (!is_sender) return;
    has_begun.store(true);
    for (int i = 0; i < 20'000 && !run_is_over.load(); ++i) std::this_thread::yield();
    was_left_alone = run_is_over.load();
  }
};

struct unread_reply : detail::reply_slot {
  void deliver(input_archive& ar) override { static_cast<void>(ar.read<bool>()); }
  void fail(const std::exception_ptr&) noexcept override {}
};
/// To this rank itself, from a thread that is none of the runtime's.
void send_one(detail::job& by) {
  is_sender = true;
  by.send(0, detail::make_reply_message(by.expect(std::make_unique<unread_reply>()), true));
}

task<int> end_when(const std::atomic<bool>& begun) {
  while (!begun.load()) co_await yield();
  co_return 0;
}
detail::job& job_of(runtime& rt) { return *rt.service<detail::object_space>().others(); }

TEST(a_run, waits_at_its_end_for_who_is_sending) {
  slow_way slow;
  thread_network connections(transport_kind::loopback, 1);
  runtime rt(options_with(1));
  std::thread sender;
  {
    tapped_transport network(
        connections.connect(0), [](message m) { return m; }, std::ref(slow));
    const auto main = [](runtime& on, std::thread& sends, slow_way& way) -> task<int> {
      sends = std::thread([&on] { send_one(job_of(on)); });
      co_return co_await end_when(way.has_begun);
    };
    EXPECT_EQ(run(rt, network, main(rt, sender, slow)), 0);
    slow.run_is_over.store(true);
    sender.join();
  }
  EXPECT_FALSE(slow.was_left_alone);
}

TEST(a_run, sends_nothing_after_its_end) {
  int sent = 0;
  thread_network connections(transport_kind::loopback, 1);
  runtime rt(options_with(1));
  {
    tapped_transport network(
        connections.connect(0), [](message m) { return m; },
        [&sent](const message&) { sent += is_sender; });
    EXPECT_EQ(run(rt, network, []() -> task<int> { co_return 7; }()), 7);
  }
  std::thread([&rt] { send_one(job_of(rt)); }).join();
  EXPECT_EQ(sent, 0);
  EXPECT_EQ(job_of(rt).rank(), 0);
  EXPECT_EQ(job_of(rt).size(), 1);
}

}  // namespace
}  // namespace starling
