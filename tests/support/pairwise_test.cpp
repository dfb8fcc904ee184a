// SPDX-License-Identifier: Apache-2.0
#include "support/pairwise.hpp"

#include <string>

#include <gtest/gtest.h>

namespace {

using starling_test::pairwise;

/// Returns whether a row has `a` at position I and `b` at position J.
template <std::size_t I, std::size_t J, class Rows, class A, class B>
bool has(const Rows& rows, const A& a, const B& b) {
  for (const auto& row : rows)
    if (std::get<I>(row) == a && std::get<J>(row) == b) return true;
  return false;
}

TEST(pairwise, has_every_pair_of_values_in_fewer_rows_than_the_product) {
  const std::vector<std::string> names = {"a", "b", "c"};
  const std::vector<int> numbers = {1, 2, 3};
  const std::vector<bool> switches = {false, true};
  const auto rows = pairwise<std::string, int, bool, int>(names, numbers, switches, numbers);
  for (const std::string& name : names)
    for (const int number : numbers) {
      EXPECT_TRUE((has<0, 1>(rows, name, number))) << name << number;
      EXPECT_TRUE((has<0, 3>(rows, name, number))) << name << number;
      for (const int other : numbers)
        EXPECT_TRUE((has<1, 3>(rows, number, other))) << number << other;
    }
  for (const bool on : switches) {
    for (const std::string& name : names) EXPECT_TRUE((has<0, 2>(rows, name, on))) << name << on;
    for (const int number : numbers) {
      EXPECT_TRUE((has<1, 2>(rows, number, on))) << number << on;
      EXPECT_TRUE((has<2, 3>(rows, on, number))) << number << on;
    }
  }
  EXPECT_LE(rows.size(), 12u);  // of 54; nine is the least
}

TEST(pairwise, of_two_lists_is_their_product) {
  EXPECT_EQ((pairwise<int, int>({1, 2, 3}, {4, 5})).size(), 6u);
}

TEST(pairwise, of_one_list_is_the_list) {
  EXPECT_EQ((pairwise<int>({1, 2, 3})),
            (std::vector<std::tuple<int>>{std::tuple(1), std::tuple(2), std::tuple(3)}));
}

TEST(pairwise, of_an_empty_list_is_empty) { EXPECT_TRUE((pairwise<int, int>({1, 2}, {})).empty()); }

TEST(pairwise, is_the_same_each_time) {
  const std::vector<int> values = {1, 2, 3, 4};
  EXPECT_EQ((pairwise<int, int, int>(values, values, values)),
            (pairwise<int, int, int>(values, values, values)));
}

}  // namespace
