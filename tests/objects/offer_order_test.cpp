// SPDX-License-Identifier: Apache-2.0
// The order in which a channel end takes offers that overtake each other.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <starling/objects/detail/offer_order.hpp>

namespace starling::detail {
namespace {

/// Lets an order decide about offers that arrive, and keeps the early ones, as a channel end does.
struct receiver {
  offer_order order;
  std::vector<offer_position> early;
  std::vector<offer_position> taken;

  void arrive(const offer_position& p) {
    const turn when = order.take(p);
    ASSERT_NE(when, turn::past) << "line " << p.line << ", number " << p.number;
    if (when == turn::later) return early.push_back(p);
    taken.push_back(p);
    const auto is_next = [this](const offer_position& e) { return order.take(e) == turn::now; };
    for (auto next = early.begin(); (next = std::ranges::find_if(early, is_next)) != early.end();) {
      taken.push_back(*next);
      early.erase(next);
    }
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers_of(std::uint64_t line) const {
    std::vector<std::uint64_t> found;
    for (const offer_position& p : taken)
      if (p.line == line) found.push_back(p.number);
    return found;
  }
};

TEST(offer_order, takes_offers_that_overtake_each_other_in_the_order_of_their_numbers) {
  constexpr std::uint64_t count = 50;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<offer_position> sent;
    std::vector<std::uint64_t> all;
    for (std::uint64_t n = 1; n <= count; ++n) {
      sent.push_back({7, n, true});
      sent.push_back({8, n, true});  // an end that was made again
      all.push_back(n);
    }
    std::ranges::shuffle(sent, random);
    receiver r;
    for (const offer_position& p : sent) r.arrive(p);
    EXPECT_EQ(r.numbers_of(7), all) << "seed " << seed;
    EXPECT_EQ(r.numbers_of(8), all) << "seed " << seed;
    EXPECT_TRUE(r.early.empty()) << "seed " << seed;
  }
}

TEST(offer_order, refuses_a_number_that_was_used_before) {
  offer_order order;
  EXPECT_EQ(order.take({7, 1, false}), turn::now);
  EXPECT_EQ(order.take({7, 2, false}), turn::now);
  EXPECT_EQ(order.take({7, 2, false}), turn::past);
  EXPECT_EQ(order.take({7, 1, true}), turn::past);
  EXPECT_EQ(order.take({9, 0, true}), turn::past);
  EXPECT_EQ(order.take({7, 4, false}), turn::later);
  EXPECT_EQ(order.take({7, 3, false}), turn::now);
}

TEST(offer_order, begins_behind_the_offers_that_a_former_receiver_has_taken) {
  offer_order order;
  EXPECT_FALSE(order.has_begun());
  EXPECT_EQ(order.take({7, 5, false}), turn::now);
  EXPECT_TRUE(order.has_begun());
  EXPECT_EQ(order.take({7, 6, true}), turn::now);
  EXPECT_EQ(order.take({8, 2, true}), turn::later);  // an offer before it is on its way
  EXPECT_EQ(order.take({8, 1, true}), turn::now);
}

TEST(offer_order, takes_an_offer_without_a_channel) {
  offer_order order;
  EXPECT_EQ(order.take(offer_position()), turn::now);
  EXPECT_FALSE(order.has_begun());
}

}  // namespace
}  // namespace starling::detail
