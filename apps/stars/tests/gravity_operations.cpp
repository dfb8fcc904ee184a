// SPDX-License-Identifier: Apache-2.0
// The counted operations of an interaction are those that its code does.
#include "gravity/operation_count.hpp"

#include <gtest/gtest.h>

#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

/// A number that counts the operations with it. A change of sign is none: it is part of the
/// operation that uses the result.
struct counted {
  double value = 0.0;
  static inline int operations = 0;

  constexpr counted() = default;
  explicit counted(double v) : value(v) {}

  static counted done(double v) {
    ++operations;
    return counted(v);
  }
  friend counted operator+(counted a, counted b) { return done(a.value + b.value); }
  friend counted operator-(counted a, counted b) { return done(a.value - b.value); }
  friend counted operator*(counted a, counted b) { return done(a.value * b.value); }
  friend counted operator/(counted a, counted b) { return done(a.value / b.value); }
  friend counted operator-(counted a) { return counted(-a.value); }
};

}  // namespace
}  // namespace stars::test

template <>
struct stars::ops<stars::test::counted> {
  static stars::test::counted sqrt(stars::test::counted a) {
    return stars::test::counted::done(std::sqrt(a.value));
  }
};

namespace stars::test {
namespace {

template <class Action>
int operations_of(const Action& action) {
  counted::operations = 0;
  action();
  return counted::operations;
}

TEST(operations, of_a_far_pair_are_counted) {
  const vector3<counted> own{counted(0.1), counted(0.2), counted(0.3)};
  const vector3<counted> other{counted(0.3), counted(0.1), counted(0.2)};
  const vector3<counted> offset{counted(2.0), counted(1.0), counted(0.0)};
  series<counted> moments, sum;
  vector3<counted> correction;
  const int found = operations_of([&] {
    const inverse_distance<counted> from((own - other) - offset);
    add_potential<false, highest_order>(moments, from.derivatives(), sum);
    const counted ratio = moments.at[term::one] * counted(0.5);
    series<counted> third;
    for (int t = term::xxx; t < term::count; ++t)
      third.at[t] = moments.at[t] - ratio * moments.at[t];
    add_correction(third, from, correction);
  });
  // Compilers form a product once: those of two coordinates, which derivatives and correction need,
  // and d[3] times each square, which three derivatives need.
  constexpr int shared_products = 6 + 3 * 2;
  EXPECT_EQ(operations_of_far_pair, found - shared_products);
}

/// 215 partners of each cell at theta 0.5, less where the domain ends.
TEST(operations, of_a_tree_are_those_of_its_pairs) {
  const octree tree = octree::uniform(3);
  const gravity_operations count = count_operations(tree, 0.5);
  const double cells = double(cell_count(tree));
  EXPECT_LT(count.near, 215.0 * operations_of_pair * cells);
  EXPECT_GT(count.near, 190.0 * operations_of_pair * cells);
  // The far partners of the cells of 73 nodes, of which those at the surface have fewer; the root's
  // have more.
  EXPECT_GT(count.far, 0.6 * 189.0 * operations_of_far_pair * 73 * cells_per_subgrid);
  EXPECT_LT(count.far, 1.1 * 189.0 * operations_of_far_pair * 73 * cells_per_subgrid);
  // All pairs of a single leaf.
  EXPECT_EQ(count_operations(octree::uniform(0), 0.5).near,
            double(operations_of_pair) * cells_per_subgrid * (cells_per_subgrid - 1));
}

}  // namespace
}  // namespace stars::test
