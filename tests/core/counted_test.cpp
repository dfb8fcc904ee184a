// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/counted.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace starling::detail {
namespace {

struct base : counted {};
struct noted final : base {
  explicit noted(int& count) : alive(count) { ++alive; }
  ~noted() override { --alive; }
  int& alive;
};

static_assert(std::is_convertible_v<counted_ptr<noted>, counted_ptr<base>>);
static_assert(!std::is_convertible_v<counted_ptr<base>, counted_ptr<noted>>);
static_assert(!std::is_convertible_v<shared_value<int>, counted_ptr<counted_value<int>>>);

TEST(counted_pointers, delete_their_object_with_the_last_owner) {
  int alive = 0;
  counted_ptr first(new noted(alive));
  counted_ptr<base> second = first;
  counted_owner third = counted_ptr<base>(second).release();
  first = nullptr;
  second = nullptr;
  EXPECT_EQ(alive, 1);
  const counted_ptr<noted> fourth(std::move(third));
  EXPECT_EQ(&fourth->alive, &alive);
  EXPECT_TRUE(third == nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST(counted_pointers, move_and_swap_without_a_deletion) {
  int alive = 0;
  {
    counted_ptr a(new noted(alive));
    counted_ptr b(new noted(alive));
    a = std::exchange(b, a);
    EXPECT_EQ(alive, 2);
    const counted_ptr<noted>& same = b;
    b = same;
    EXPECT_EQ(alive, 2);
    a = b;
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(counted_pointers, are_copied_by_several_threads) {
  int alive = 0;
  {
    counted_ptr shared(new noted(alive));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([mine = shared] {
        for (int i = 0; i < 1000; ++i) const counted_ptr<noted> copy = mine;
      });
  }
  EXPECT_EQ(alive, 0);
}

TEST(shared_values, are_constant) {
  const shared_value<std::vector<int>> value(new counted_value<std::vector<int>>(3, 7));
  EXPECT_EQ(value->value, std::vector<int>({7, 7, 7}));
  static_assert(std::is_const_v<std::remove_reference_t<decltype(*value)>>);
}

}  // namespace
}  // namespace starling::detail
