// SPDX-License-Identifier: Apache-2.0
// Replies that are expected while a run ends, or soon.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "load_support.hpp"

namespace starling {
namespace {

using starling_test::cluster;

/// Counts the objects of this type that have been neither answered nor dropped.
class counted_slot final : public detail::reply_slot {
 public:
  using counter = std::shared_ptr<std::atomic<int>>;
  explicit counted_slot(counter alive) : m_alive(std::move(alive)) { ++*m_alive; }
  ~counted_slot() override { --*m_alive; }
  void deliver(input_archive&) override {}
  void fail(const std::exception_ptr&) noexcept override {}

 private:
  counter m_alive;
};

/// Threads outside the runtime that expect replies, up to a hundred each at a time, until `stop`.
class expecting_threads {
 public:
  explicit expecting_threads(detail::job& by) {
    for (std::thread& t : m_threads)
      t = std::thread([this, &by] {
        std::deque<std::uint64_t> slots;
        while (!m_stop.load()) {
          slots.push_back(by.expect(std::make_unique<counted_slot>(m_alive)).slot);
          if (slots.size() <= 100) continue;
          by.forget(slots.front());
          slots.pop_front();
        }
      });
  }
  expecting_threads(const expecting_threads&) = delete;
  expecting_threads& operator=(const expecting_threads&) = delete;
  ~expecting_threads() { stop(); }
  void stop() {
    m_stop.store(true);
    for (std::thread& t : m_threads)
      if (t.joinable()) t.join();
  }
  [[nodiscard]] int unanswered() const { return m_alive->load(); }

 private:
  counted_slot::counter m_alive = std::make_shared<std::atomic<int>>(0);
  std::atomic<bool> m_stop{false};
  std::vector<std::thread> m_threads{4};
};

/// A slot that is registered after the end of the run has removed all slots would wait until its
/// runtime is destroyed.
TEST(expected_replies, are_all_ended_with_their_run) {
  for (int trial = 0; trial < 20; ++trial) {
    starling_test::thread_network connections(transport_kind::loopback, 2);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.emplace_back([&, r] {
        const auto connection = connections.connect(r);
        runtime rt(cluster{2, 1}.options());
        std::unique_ptr<expecting_threads> threads;
        const auto body = [&](runtime& rt) -> task<int> {
          threads = std::make_unique<expecting_threads>(
              *rt.service<detail::object_space>().current_job());
          co_return 0;
        };
        EXPECT_EQ(run(rt, *connection, body(rt)), 0);
        if (threads == nullptr) return;
        threads->stop();
        EXPECT_EQ(threads->unanswered(), 0);
      });
    for (std::thread& t : ranks) t.join();
  }
}

TEST(ranks_that_expect_a_reply_soon, stay_awake) {
  cluster{2, 1}.expect(0, [](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "the reply must come from the other rank");
    const auto all = create_array<starling_test::burner>(rt, 2, placement::block);
    constexpr double ms = 1;  // longer than an idle worker searches for work
    const auto slept = [&rt] { return rt.statistics(0).slept; };
    std::uint64_t before = slept();
    for (int i = 0; i < 1000 && slept() == before; ++i)
      co_await all[1].call<&starling_test::burner::burn>(ms);
    EXPECT_GT(slept(), before);
    constexpr std::uint64_t hour = 3'600'000'000'000;
    detail::job& j = *rt.service<detail::object_space>().current_job();
    const detail::awake_scope soon(j, hour), sooner(j, 1);
    before = slept();
    for (int i = 0; i < 10; ++i) co_await all[1].call<&starling_test::burner::burn>(ms);
    EXPECT_EQ(slept(), before);
    co_return 0;
  });
}

}  // namespace
}  // namespace starling
