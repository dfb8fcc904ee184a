// SPDX-License-Identifier: Apache-2.0
// The order of a part's work names all that reads and writes the same cells or fluxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "mesh/part_order.hpp"
#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

using numbers = std::set<int>;

numbers as_set(const std::vector<int>& list) {
  const numbers all(list.begin(), list.end());
  EXPECT_EQ(all.size(), list.size()) << "a number occurs twice";
  return all;
}

/// The parts of a random tree.
struct divided_tree {
  transfer_plan whole;
  std::vector<int> first;

  divided_tree(const tree_case& c, int parts)
      : whole(plan_transfers({random_tree(c.seed, c.boundary, 3), 1.0}, c.boundary)),
        first(equal_parts(whole.leaves, std::min(parts, whole.leaves))) {}

  /// Calls `check(plan, order)` for each part.
  template <class Check>
  void for_each_part(Check check) const {
    for (int p = 0; p < int(first.size()); ++p) {
      const part_plan plan = plan_part(whole, first, p);
      check(plan, part_order(plan));
    }
  }
};

template <class Check>
void for_each_part(Check check) {
  for (const tree_case& c : tree_cases(4))
    for (const int parts : {1, 2, 5}) {
      SCOPED_TRACE(testing::PrintToString(c) + ", parts: " + std::to_string(parts));
      divided_tree(c, parts).for_each_part(check);
    }
}

/// Returns the fills that write into a slot.
numbers writers_of(const part_plan& plan, const part_order& order, int slot) {
  numbers fills;
  if (slot < plan.count) fills.insert(order.leaf(slot));
  for (int k = 0; k < int(plan.restrictions.size()); ++k)
    if (plan.restrictions[std::size_t(k)].coarse == slot) fills.insert(order.restriction(k));
  for (int k = 0; k < int(plan.prolongations.size()); ++k)
    if (plan.prolongations[std::size_t(k)].fine == slot) fills.insert(order.prolongation(k));
  for (int h = 0; h < int(plan.halos.size()); ++h)
    for (const halo_box& box : plan.halos[std::size_t(h)].incoming)
      if (box.slot == slot) fills.insert(order.received(h));
  return fills;
}

TEST(part_order, lists_for_a_leaf_all_that_fills_its_ghost_cells) {
  for_each_part([](const part_plan& plan, const part_order& order) {
    for (int n = 0; n < plan.count; n += 3) {
      numbers expected;
      for (int d = 0; d < direction_count; ++d)
        expected.merge(writers_of(plan, order, plan.view().sources_of(n)[d].slot));
      expected.erase(order.leaf(n));
      ASSERT_EQ(as_set(order.reads(order.leaf(n))), expected) << n;
    }
  });
}

TEST(part_order, lists_for_a_restriction_its_fine_leaf) {
  for_each_part([](const part_plan& plan, const part_order& order) {
    for (int k = 0; k < int(plan.restrictions.size()); ++k)
      ASSERT_EQ(order.reads(order.restriction(k)),
                std::vector<int>{order.leaf(plan.restrictions[std::size_t(k)].fine)});
  });
}

/// Returns all fills that a leaf reads, also by way of prolongations, and the leaves that are read
/// by way of restrictions.
numbers reached_from(const part_plan& plan, const part_order& order, int leaf) {
  numbers all = as_set(order.reads(order.leaf(leaf)));
  for (const int fill : numbers(all))
    if (fill >= order.prolongation(0) && fill < order.received(0))
      all.merge(as_set(order.reads(fill)));
  for (const int fill : numbers(all))
    if (fill >= order.restriction(0) && fill < order.prolongation(0))
      all.insert(plan.restrictions[std::size_t(fill - order.restriction(0))].fine);
  return all;
}

TEST(part_order, lists_as_readers_the_leaves_that_a_fill_reaches) {
  int prolonged = 0;
  for_each_part([&](const part_plan& plan, const part_order& order) {
    std::vector<numbers> readers(std::size_t(order.size()));
    for (int n = 0; n < plan.count; ++n)
      for (const int fill : reached_from(plan, order, n)) readers[std::size_t(fill)].insert(n);
    for (int fill = 0; fill < order.size(); ++fill)
      ASSERT_EQ(as_set(order.readers(fill)), readers[std::size_t(fill)]) << fill;
    prolonged += int(plan.prolongations.size());
  });
  EXPECT_GT(prolonged, 100);
}

TEST(part_order, lists_the_halos_that_send_cells_of_a_leaf) {
  int sent = 0;
  for_each_part([&](const part_plan& plan, const part_order& order) {
    std::vector<numbers> halos(std::size_t(plan.count));
    for (int h = 0; h < int(plan.halos.size()); ++h)
      for (const int fill : order.sent(h)) {
        ASSERT_LT(fill, order.prolongation(0));
        const int k = fill - order.restriction(0);
        halos[std::size_t(k < 0 ? fill : plan.restrictions[std::size_t(k)].fine)].insert(h);
        ++sent;
      }
    for (int n = 0; n < plan.count; ++n)
      ASSERT_EQ(as_set(order.halos_of(n)), halos[std::size_t(n)]) << n;
  });
  EXPECT_GT(sent, 100);
}

TEST(part_order, lists_all_own_leaves_whose_cells_a_halo_sends) {
  for_each_part([](const part_plan& plan, const part_order& order) {
    for (int h = 0; h < int(plan.halos.size()); ++h) {
      const numbers sent = as_set(order.sent(h));
      for (const halo_box& box : plan.halos[std::size_t(h)].outgoing) {
        const numbers fills = writers_of(plan, order, box.slot);
        ASSERT_TRUE(std::any_of(fills.begin(), fills.end(), [&](int f) {
          return sent.contains(f);
        })) << box.slot;
      }
    }
  });
}

TEST(part_order, lists_the_leaves_whose_fluxes_a_halo_sends) {
  int rows = 0;
  for_each_part([&](const part_plan& plan, const part_order& order) {
    std::vector<numbers> halos(std::size_t(plan.count));
    for (int h = 0; h < int(plan.halos.size()); ++h) {
      const halo& one = plan.halos[std::size_t(h)];
      numbers leaves;
      for (const fine_face& face : plan.fine_faces)
        if (face.row >= one.outgoing_row && face.row < one.outgoing_row + one.outgoing_rows) {
          leaves.insert(face.slot);
          halos[std::size_t(face.slot)].insert(h);
        }
      ASSERT_EQ(as_set(order.fluxes_sent(h)), leaves) << h;
      rows += one.outgoing_rows;
    }
    for (int n = 0; n < plan.count; ++n)
      ASSERT_EQ(as_set(order.flux_halos_of(n)), halos[std::size_t(n)]) << n;
  });
  EXPECT_GT(rows, 100);
}

}  // namespace
}  // namespace stars::test
