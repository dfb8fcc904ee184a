// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core/detail/work_deque.hpp>

namespace {

using starling::detail::work_deque;

std::vector<int> numbers(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

TEST(a_work_deque, gives_its_owner_the_newest_and_thieves_the_oldest) {
  auto items = numbers(3);
  work_deque<int> deque;
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_EQ(deque.steal(), nullptr);
  for (int& i : items) EXPECT_TRUE(deque.push(&i));
  EXPECT_EQ(deque.pop(), &items[2]);
  EXPECT_EQ(deque.steal(), &items[0]);
  EXPECT_EQ(deque.pop(), &items[1]);
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_TRUE(deque.looks_empty());
}

TEST(a_work_deque, grows_and_keeps_the_order) {
  auto items = numbers(5000);
  work_deque<int> deque;
  for (int& i : items) EXPECT_TRUE(deque.push(&i));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(deque.steal(), &items[std::size_t(i)]);
  for (int i = 4999; i >= 1000; --i) ASSERT_EQ(deque.pop(), &items[std::size_t(i)]);
  EXPECT_EQ(deque.pop(), nullptr);
}

TEST(a_work_deque, gives_each_item_to_exactly_one) {
  constexpr int count = 40000;
  auto items = numbers(count);
  std::vector<std::atomic<int>> taken(count);
  work_deque<int> deque;
  std::atomic<bool> done{false};
  std::vector<std::thread> thieves;
  for (int t = 0; t < 3; ++t)
    thieves.emplace_back([&] {
      while (!done || !deque.looks_empty())
        if (const int* i = deque.steal()) ++taken[std::size_t(*i)];
    });
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(deque.push(&items[std::size_t(i)]));
    if (i % 3 != 0)
      if (const int* mine = deque.pop()) ++taken[std::size_t(*mine)];
  }
  while (const int* mine = deque.pop()) ++taken[std::size_t(*mine)];
  done = true;
  for (auto& t : thieves) t.join();
  for (const auto& n : taken) ASSERT_EQ(n, 1);
}

}  // namespace
