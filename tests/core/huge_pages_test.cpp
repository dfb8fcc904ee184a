// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/huge_pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include "support/huge_pages.hpp"

namespace starling::detail {
namespace {

using starling_test::has_huge_pages, starling_test::mapping;

TEST(huge_pages, are_asked_for_large_memory_only) {
  if (!starling_test::shows_huge_pages()) GTEST_SKIP() << starling_test::no_huge_pages;
  const mapping large(always_new_memory), small(always_new_memory);
  ASSERT_NE(large.data(), nullptr);
  ASSERT_NE(small.data(), nullptr);
  prefer_huge_pages(large.data(), always_new_memory);
  prefer_huge_pages(small.data(), always_new_memory - 1);
  EXPECT_TRUE(has_huge_pages(large.data() + always_new_memory / 2));
  EXPECT_FALSE(has_huge_pages(small.data() + always_new_memory / 2));
}

TEST(huge_pages, leave_the_contents_and_the_neighbours_alone) {
  constexpr std::size_t bytes = always_new_memory + 100;
  const mapping memory(bytes);
  ASSERT_NE(memory.data(), nullptr);
  std::memset(memory.data(), 7, bytes);
  prefer_huge_pages(memory.data() + 1, bytes - 2);
  EXPECT_EQ(std::count(memory.data(), memory.data() + bytes, 7), std::ptrdiff_t(bytes));
}

}  // namespace
}  // namespace starling::detail
