// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <starling/core/detail/spin_patience.hpp>

namespace starling {
namespace {

using detail::spin_patience;

constexpr std::uint64_t long_ns = 50'000, soon = 10'000, late = 1'000'000;

/// Returns the number of sleeps of `ns` until a long poll is tried again; 0: more than `most`.
int sleeps_until_long(spin_patience& p, std::uint64_t ns, int most) {
  for (int i = 1; i <= most; ++i) {
    p.slept(ns, long_ns);
    if (p.limit(long_ns) == long_ns) return i;
  }
  return 0;
}

TEST(spin_patience, lasts_while_polling_finds_work) {
  spin_patience p;
  for (int i = 0; i < 100; ++i) p.polled(true, soon, long_ns);
  EXPECT_EQ(p.limit(long_ns), long_ns);
}

TEST(spin_patience, ends_with_an_unsuccessful_poll) {
  spin_patience p;
  p.polled(false, long_ns, long_ns);
  EXPECT_EQ(p.limit(long_ns), spin_patience::short_ns);
  p.polled(true, soon, long_ns);  // which has no information about long polls
  EXPECT_EQ(p.limit(long_ns), spin_patience::short_ns);
  EXPECT_EQ(p.limit(0), 0u);  // a limit of 0 remains 0
}

TEST(spin_patience, returns_where_a_longer_poll_would_have_found_the_work) {
  spin_patience p;
  p.polled(false, long_ns, long_ns);
  EXPECT_EQ(sleeps_until_long(p, late, 5000), 0);
  EXPECT_EQ(sleeps_until_long(p, soon, 5000), 2);
  p.polled(true, soon, long_ns);
  p.polled(false, long_ns, long_ns);
  EXPECT_EQ(sleeps_until_long(p, soon, 5000), 2);
}

TEST(spin_patience, learns_nothing_from_a_poll_that_was_longer_than_a_long_one) {
  spin_patience p;
  p.polled(false, long_ns, long_ns);
  ASSERT_EQ(sleeps_until_long(p, soon, 5000), 2);
  p.polled(true, late, long_ns);
  p.polled(false, long_ns, long_ns);
  EXPECT_EQ(sleeps_until_long(p, soon, 5000), 4) << "as after two unsuccessful polls";
}

TEST(spin_patience, returns_less_often_after_each_unsuccessful_poll) {
  spin_patience p;
  int before = 0;
  for (int i = 0; i < 10; ++i) {
    p.polled(false, long_ns, long_ns);
    const int sleeps = sleeps_until_long(p, soon, 5000);
    EXPECT_GT(sleeps, before);
    before = sleeps;
    p.polled(true, 100, long_ns);  // the event that has woken it
  }
  p.polled(false, long_ns, long_ns);
  EXPECT_EQ(sleeps_until_long(p, soon, 5000), before);  // not longer than that
}

}  // namespace
}  // namespace starling
