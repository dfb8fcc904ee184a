// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/function_ref.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

namespace starling::detail {
namespace {

int sum_of_two(function_ref<int(int)> f) { return f(1) + f(2); }

TEST(function_ref, calls_the_object_that_it_refers_to) {
  int calls = 0;
  EXPECT_EQ(sum_of_two([&calls](int n) {
              ++calls;
              return 10 * n;
            }),
            30);
  EXPECT_EQ(calls, 2);
}

TEST(function_ref, copies_refer_to_the_same_object) {
  auto next = [n = 0]() mutable { return ++n; };
  const function_ref<int()> first = next;
  const function_ref<int()> second = first;
  EXPECT_EQ(first(), 1);
  EXPECT_EQ(second(), 2);
  EXPECT_EQ(next(), 3);
}

TEST(function_ref, passes_on_what_can_only_be_moved) {
  const auto take = [](std::unique_ptr<int> p) { return std::make_unique<int>(*p + 1); };
  const function_ref<std::unique_ptr<int>(std::unique_ptr<int>)> f = take;
  EXPECT_EQ(*f(std::make_unique<int>(4)), 5);
}

TEST(function_ref, passes_on_references_and_exceptions) {
  int changed = 0;
  const auto change = [](int& n) {
    n = 7;
    throw std::runtime_error("after the change");
  };
  const function_ref<void(int&)> f = change;
  EXPECT_THROW(f(changed), std::runtime_error);
  EXPECT_EQ(changed, 7);
}

}  // namespace
}  // namespace starling::detail
