// SPDX-License-Identifier: Apache-2.0
// Placements: quotients computed by multiplication equal those of divisions.
#include <starling/objects/placement.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace starling::detail {
namespace {

constexpr std::uint64_t most = (std::uint64_t{1} << 32) - 1;

TEST(a_scaled_quotient, equals_the_quotient_of_integers) {
  std::mt19937_64 draw(7);
  const std::vector<std::uint64_t> corners{1, 2, 3, 7, 64, 65535, 65536, 1u << 31, most - 1, most};
  const auto any = [&] {
    return draw() % 4 == 0 ? corners[draw() % corners.size()] : draw() % most + 1;
  };
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t factor = any() >> (draw() % 33), divisor = any();
    const scaled_quotient q(factor, divisor);
    // Near a whole quotient, where a rounding error would show, and anywhere else.
    const std::uint64_t whole = divisor * (draw() % 8) / (factor == 0 ? 1 : factor);
    for (const std::uint64_t n : {whole == 0 ? 0 : whole - 1, whole, whole + 1, any(), most})
      if (n <= most) {
        ASSERT_EQ(q(n), std::uint64_t(uint128(n) * factor / divisor))
            << n << " * " << factor << " / " << divisor;
      }
  }
}

/// Expects each element once among the elements of its worker, at the position the worker uses.
void expect_both_ways(placement how, std::uint64_t workers, std::uint64_t elements) {
  const spread s({how, workers, elements});
  std::uint64_t found = 0;
  for (std::uint64_t w = 0; w < workers; ++w) {
    for (std::size_t i = 0; i < s.count(w); ++i, ++found) {
      const std::uint64_t number = s.number_of(s.first(w), i);
      ASSERT_LT(number, elements);
      ASSERT_EQ(s.worker_of(number), w) << number << " of " << elements << " on " << workers;
      ASSERT_EQ(s.position_of(s.first(w), number), i);
    }
  }
  EXPECT_EQ(found, elements) << workers;
}

TEST(a_spread, names_each_element_once) {
  for (const auto how : {placement::block, placement::round_robin})
    for (const std::uint64_t workers : {1, 2, 3, 5, 8, 60, 64})
      for (const std::uint64_t elements : {1, 2, 3, 7, 8, 9, 59, 64, 65, 1000})
        expect_both_ways(how, workers, elements);
}

TEST(a_spread, of_the_most_elements_has_as_many_on_each_worker_as_can_be) {
  for (const auto how : {placement::block, placement::round_robin}) {
    const spread s({how, 4096, most});
    std::uint64_t sum = 0;
    for (std::uint64_t w = 0; w < 4096; ++w) {
      const std::size_t count = s.count(w);
      EXPECT_GE(count, most / 4096);
      EXPECT_LE(count, most / 4096 + 1);
      for (const std::size_t i : {std::size_t{0}, count - 1})
        EXPECT_EQ(s.worker_of(s.number_of(s.first(w), i)), w);
      sum += count;
    }
    EXPECT_EQ(sum, most);
  }
}

}  // namespace
}  // namespace starling::detail
