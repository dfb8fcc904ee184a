// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

/// A runtime of one worker that a task keeps busy until `go`.
class a_busy_worker : public testing::Test {
 public:
  a_busy_worker() {
    rt.post([](std::atomic<bool>& s, std::atomic<bool>& g) -> task<> {
      s = true;
      while (!g) std::this_thread::yield();
      co_return;
    }(m_started, m_go));
    while (!m_started) std::this_thread::yield();
  }
  ~a_busy_worker() override { m_go = true; }

  void go() {
    m_go = true;
    rt.wait_idle();
  }
  task<> note(char which) {
    order += which;
    co_return;
  }
  task<> note_twice(char first, char second) {
    order += first;
    co_await yield();
    order += second;
  }

  std::string order;

 private:
  std::atomic<bool> m_started{false};
  std::atomic<bool> m_go{false};

 public:
  runtime rt{options_with(1)};
};

TEST_F(a_busy_worker, takes_urgent_work_from_outside_before_all_other_work) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode takes work in any order";
  const int n = 1000;
  for (int i = 0; i < n; ++i) rt.post(note('n'));
  for (int i = 0; i < 3; ++i) rt.get_executor(priority::high).post(note('h'));
  go();
  EXPECT_EQ(order, "hhh" + std::string(n, 'n'));
}

TEST_F(a_busy_worker, takes_urgent_work_from_outside_before_tasks_of_its_own) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode takes work in any order";
  std::atomic<bool> spawned{false};
  std::atomic<bool> posted{false};
  rt.post([](a_busy_worker& self, auto& s, auto& p) -> task<> {
    for (int i = 0; i < 100; ++i) post(self.note('n'));
    s = true;
    while (!p) std::this_thread::yield();
    co_return;
  }(*this, spawned, posted));
  std::thread sender([&] {
    while (!spawned) std::this_thread::yield();
    rt.get_executor(priority::high).post(note('h'));
    posted = true;
  });
  go();
  sender.join();
  EXPECT_EQ(order, "h" + std::string(100, 'n'));
}

TEST_F(a_busy_worker, resumes_a_yielding_urgent_task_after_one_other_task) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode takes work in any order";
  rt.get_executor(priority::high).post(note_twice('a', 'z'));
  for (int i = 0; i < 1000; ++i) rt.post(note('n'));
  go();
  EXPECT_EQ(order.front(), 'a');
  EXPECT_LE(order.find('z'), 2u) << order.substr(0, 20);
}

TEST_F(a_busy_worker, lets_normal_work_have_its_turn_while_an_urgent_task_yields) {
  rt.get_executor(priority::high).post([](a_busy_worker& self) -> task<> {
    while (self.order.size() < 100) co_await yield();  // endless if it kept normal tasks waiting
  }(*this));
  for (int i = 0; i < 100; ++i) rt.post(note('n'));
  go();
  EXPECT_EQ(order.size(), 100u);
}

}  // namespace
