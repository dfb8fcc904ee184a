// SPDX-License-Identifier: Apache-2.0
#include "mesh/transfer_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "mesh/ghost_regions.hpp"
#include "tests/mesh_support.hpp"

namespace stars::test {
namespace {

using cells = std::bitset<cells_per_subgrid>;

constexpr int side_of(int i) { return i < 0 ? -1 : i >= edge ? 1 : 0; }
constexpr std::size_t number_of(triple c) {
  const int number = c.x + edge * (c.y + edge * c.z);
  return std::size_t(number);
}

/// Calls function(cell) for all cells with coordinates first … last on each axis.
template <class Function>
void for_box(int first, int last, const Function& function) {
  for (int z = first; z <= last; ++z)
    for (int y = first; y <= last; ++y)
      for (int x = first; x <= last; ++x) function(triple{x, y, z});
}

/// Checks a plan by exhaustion, cell by cell, against the definitions, and collects what is wrong.
class plan_check {
 public:
  plan_check(const octree& tree, const transfer_plan& plan, double xscale)
      : m_tree(tree), m_plan(plan), m_needed(plan.keys.size()), m_filled(plan.keys.size()) {
    check_slots(xscale);
    if (!m_faults.empty()) return;
    for (int leaf = 0; leaf < plan.leaves; ++leaf)
      for_box(-ghost_width, edge - 1 + ghost_width, [&](triple c) { check_source(leaf, c, true); });
    const std::vector<cells> by_ghosts = m_needed;
    for (const level_link& l : plan.prolongations) check_prolongation(l);
    for (int s = plan.leaves + plan.restricted; s < plan.slot_count(); ++s)
      expect(m_needed[std::size_t(s)] == by_ghosts[std::size_t(s)], "a prolongation reads another");
    for (const level_link& l : plan.restrictions) check_restriction(l);
    check_coverage();
    check_corrections();
  }

  [[nodiscard]] const std::set<std::string>& faults() const { return m_faults; }

 private:
  void expect(bool holds, const char* fault) {
    if (!holds) m_faults.insert(fault);
  }
  [[nodiscard]] bool is_restricted(int slot) const {
    return slot >= m_plan.leaves && slot < m_plan.leaves + m_plan.restricted;
  }
  [[nodiscard]] const node_key& key(int slot) const { return m_plan.keys[std::size_t(slot)]; }

  void check_slots(double xscale) {
    const std::size_t slots = std::size_t(m_plan.slot_count());
    expect(m_plan.leaves == m_tree.leaf_count() && m_plan.keys.size() == slots &&
               m_plan.frames.size() == slots &&
               m_plan.sources.size() == std::size_t(m_plan.leaves) * direction_count,
           "sizes");
    if (!m_faults.empty()) return;
    std::set<std::uint64_t> codes;
    for (int s = 0; s < m_plan.slot_count(); ++s) {
      const node_key& k = key(s);
      expect(codes.insert(k.code()).second, "two slots for a node");
      const int node = m_tree.find(k);
      if (s < m_plan.leaves) {
        expect(node == s, "leaf");
      } else if (is_restricted(s)) {
        expect(node >= m_plan.leaves, "restricted slot");
      } else {
        expect(node < 0 && m_tree.find(k.parent()) >= 0 && m_tree.find(k.parent()) < m_plan.leaves,
               "prolonged slot");
      }
      const subgrid_frame& f = m_plan.frames[std::size_t(s)];
      const double n = std::ldexp(edge, k.level);
      bool same = f.half_dx == xscale / n;
      for (int a = 0; a < 3; ++a) same = same && f.lower[a] == 16.0 * k.place[a] - n;
      expect(same, "frame");
    }
    for (const ghost_source& s : m_plan.sources)
      expect(s.slot >= 0 && s.slot < m_plan.slot_count(), "source out of range");
  }

  /// Returns the rule and the global cell of the source for global cell `g` of `n` along an axis.
  [[nodiscard]] std::pair<axis_rule, int> expected_source(int g, int n) const {
    if (g >= 0 && g < n) return {axis_rule::inside, g};
    switch (m_tree.boundary()) {
      case boundary_kind::outflow:
        return {axis_rule::zero_gradient, std::clamp(g, 0, n - 1)};
      case boundary_kind::reflecting:
        return {axis_rule::mirror, g < 0 ? -1 - g : 2 * n - 1 - g};
      default:
        return {axis_rule::wrap, (g + n) % n};
    }
  }
  /// Checks the source of cell `c` of a leaf, if that is a ghost cell, and notes that it is read.
  void check_source(int leaf, triple c, bool prolonged_too) {
    const triple v{side_of(c.x), side_of(c.y), side_of(c.z)};
    if (v == triple{}) return;
    const ghost_source& s = m_plan.source(leaf, direction_index(v));
    const triple from = {source_cell(c.x, v.x, s.rule[0]), source_cell(c.y, v.y, s.rule[1]),
                         source_cell(c.z, v.z, s.rule[2])};
    expect(key(s.slot).level == key(leaf).level, "level of a source");
    expect(prolonged_too || s.slot < m_plan.leaves + m_plan.restricted, "reads prolonged cells");
    const subgrid_frame &f = m_plan.frames[std::size_t(s.slot)],
                        &g = m_plan.frames[std::size_t(leaf)];
    for (int a = 0; a < 3; ++a) {
      const auto [rule, at] =
          expected_source(edge * key(leaf).place[a] + c[a], edge << key(leaf).level);
      expect(s.rule[a] == rule, "rule");
      expect(edge * key(s.slot).place[a] + from[a] == at, "cell of a source");
      if (rule == axis_rule::inside)
        expect(
            (2 * from[a] + 1 + f.lower[a]) * f.half_dx == (2 * c[a] + 1 + g.lower[a]) * g.half_dx,
            "coordinates");
    }
    m_needed[std::size_t(s.slot)].set(number_of(from));
  }

  /// Calls function(coarse cell) for the cells of a link.
  template <class Function>
  void for_cells(const level_link& l, const Function& function) const {
    for (int k = 0; k < cells_per_octant; ++k)
      if (l.cells.contains(k)) function(coarse_cell(l.octant, k));
  }
  void check_prolongation(const level_link& l) {
    const bool slots = l.coarse >= 0 && l.coarse < m_plan.leaves && !is_restricted(l.fine) &&
                       l.fine >= m_plan.leaves && l.fine < m_plan.slot_count();
    expect(slots, "slots of a prolongation");
    if (!slots) return;
    expect(key(l.fine) == key(l.coarse).child(l.octant), "octant of a prolongation");
    for_cells(l, [&](triple c) {
      for_box(-1, 1, [&](triple v) {
        check_source(l.coarse, {c.x + v.x, c.y + v.y, c.z + v.z}, false);
      });
      for (int child = 0; child < 8; ++child)
        fill(l.fine, {2 * (c.x % 4) + (child & 1), 2 * (c.y % 4) + (child >> 1 & 1),
                      2 * (c.z % 4) + (child >> 2)});
    });
  }
  void check_restriction(const level_link& l) {
    const bool slots = is_restricted(l.coarse) && l.fine >= 0 && l.fine < m_plan.leaves;
    expect(slots, "slots of a restriction");
    if (!slots) return;
    expect(key(l.fine) == key(l.coarse).child(l.octant), "octant of a restriction");
    for_cells(l, [&](triple c) { fill(l.coarse, c); });
  }
  void fill(int slot, triple c) {
    expect(!m_filled[std::size_t(slot)][number_of(c)], "filled twice");
    m_filled[std::size_t(slot)].set(number_of(c));
  }

  void check_coverage() {
    for (int slot = m_plan.leaves; slot < m_plan.slot_count(); ++slot) {
      const cells &needed = m_needed[std::size_t(slot)], &filled = m_filled[std::size_t(slot)];
      expect(needed.any(), "slot without a reader");
      expect((needed & ~filled).none(), "needed cell not filled");
      if (is_restricted(slot)) {
        expect(needed == filled, "restricted for no reader");
        continue;
      }
      for_box(0, 3, [&](triple c) {  // a coarse cell is prolonged as a whole
        cells group;
        for (int child = 0; child < 8; ++child)
          group.set(number_of(
              {2 * c.x + (child & 1), 2 * c.y + (child >> 1 & 1), 2 * c.z + (child >> 2)}));
        expect((filled & group).none() || (needed & group).any(), "prolonged for no reader");
      });
    }
  }

  void check_corrections() {
    std::size_t next = 0;
    for (int leaf = 0; leaf < m_plan.leaves; ++leaf)
      for (int axis = 0; axis < 3; ++axis)
        for (int side = 0; side < 2; ++side) {
          const std::vector<int> fine = finer_leaves(leaf, axis, side);
          if (fine.empty()) continue;
          expect(next < m_plan.corrections.size(), "too few corrections");
          if (next == m_plan.corrections.size()) return;
          const face_link& c = m_plan.corrections[next++];
          expect(c.coarse == leaf && c.axis == axis && c.side == side, "order of corrections");
          expect(std::equal(fine.begin(), fine.end(), c.fine, c.fine + 4), "fine leaves");
        }
    expect(next == m_plan.corrections.size(), "too many corrections");
  }
  /// Returns the leaves of the next level that touch a face, by position.
  [[nodiscard]] std::vector<int> finer_leaves(int leaf, int axis, int side) const {
    const node_key& k = key(leaf);
    const int n = 2 << k.level;
    std::vector<int> found;
    for_box(0, 1, [&](triple i) {
      if (i[axis] != 0) return;
      int p[3];
      for (int a = 0; a < 3; ++a) p[a] = 2 * k.place[a] + i[a];
      p[axis] += side == 0 ? -1 : 2;
      if (m_tree.is_periodic()) p[axis] = (p[axis] + n) % n;
      const int fine = m_tree.find({k.level + 1, {p[0], p[1], p[2]}});
      if (p[axis] >= 0 && p[axis] < n && fine >= 0 && m_tree.is_leaf(fine)) found.push_back(fine);
    });
    return found;
  }

  const octree& m_tree;
  const transfer_plan& m_plan;
  std::vector<cells> m_needed, m_filled;  ///< by slot
  std::set<std::string> m_faults;
};

std::set<std::string> faults_of(const octree& tree, const transfer_plan& plan) {
  return plan_check(tree, plan, 0.7).faults();
}

class transfer_plans : public testing::TestWithParam<tree_case> {
 protected:
  const octree m_tree = random_tree(GetParam().seed, GetParam().boundary, 5);
};

TEST_P(transfer_plans, fill_what_is_read_and_nothing_else_from_the_right_cells) {
  const transfer_plan plan = plan_transfers(m_tree, 0.7);
  EXPECT_EQ(faults_of(m_tree, plan), std::set<std::string>());
  const auto by_coarse = [](const level_link& a, const level_link& b) {
    return std::pair(a.coarse, a.octant) < std::pair(b.coarse, b.octant);
  };
  const auto by_fine = [](const level_link& a, const level_link& b) { return a.fine < b.fine; };
  EXPECT_TRUE(std::is_sorted(plan.restrictions.begin(), plan.restrictions.end(), by_coarse));
  EXPECT_TRUE(std::is_sorted(plan.prolongations.begin(), plan.prolongations.end(), by_fine));
  const auto middle = plan.keys.begin() + plan.leaves, end = middle + plan.restricted;
  EXPECT_TRUE(std::is_sorted(middle, end));
  EXPECT_TRUE(std::is_sorted(end, plan.keys.end()));
}

INSTANTIATE_TEST_SUITE_P(of, transfer_plans, testing::ValuesIn(tree_cases(9)),
                         testing::PrintToStringParamName());

TEST(transfer_plan, of_a_uniform_tree_has_the_sources_of_the_mesh) {
  for (const boundary_kind b : all_boundaries)
    for (int level = 0; level <= 3; ++level) {
      const mesh grid{level};
      const transfer_plan plan = plan_transfers(octree::uniform(level, b), grid.xscale());
      ASSERT_EQ(plan.slot_count(), grid.subgrid_count());
      EXPECT_TRUE(plan.restrictions.empty() && plan.prolongations.empty() &&
                  plan.corrections.empty());
      for (int leaf = 0; leaf < plan.leaves; ++leaf)
        for (int d = 0; d < direction_count; ++d) {
          const ghost_source &s = plan.source(leaf, d), m = grid.source(leaf, d, b);
          ASSERT_EQ(s.slot, m.slot);
          ASSERT_TRUE(std::equal(s.rule, s.rule + 3, m.rule));
        }
    }
}

/// One refined sub-grid of eight, by hand.
TEST(transfer_plan, of_one_divided_leaf_has_seven_coarse_neighbours) {
  std::vector<refinement> marks(8, refinement::keep);
  marks[0] = refinement::refine;
  const octree tree = adapt(octree::uniform(1), marks);
  const transfer_plan plan = plan_transfers(tree, 1.0);
  EXPECT_EQ(plan.leaves, 15);
  EXPECT_EQ(plan.restricted, 1);  // the divided node itself, read by the seven leaves
  EXPECT_EQ(plan.prolonged, 3 * 4 + 3 * 2 + 1);
  EXPECT_EQ(plan.restrictions.size(), 7u);  // all but the child in the domain's corner
  ASSERT_EQ(plan.corrections.size(), 3u);
  const face_link& c = plan.corrections[0];
  EXPECT_EQ(plan.keys[std::size_t(c.coarse)], (node_key{1, {1, 0, 0}}));
  EXPECT_EQ(c.axis, 0);
  EXPECT_EQ(c.side, 0);
  EXPECT_TRUE(std::equal(c.fine, c.fine + 4, std::array{1, 3, 5, 7}.begin()));
}

TEST(transfer_plan, reaches_the_deepest_level) {
  generator random(17);
  octree tree = octree::uniform(1, boundary_kind::periodic);
  int leaf = 0;
  while (tree.finest_level() < deepest_level) {
    std::vector<refinement> marks(std::size_t(tree.leaf_count()), refinement::keep);
    marks[std::size_t(leaf)] = refinement::refine;
    const node_key next = tree.key(leaf).child(int(random() * 8));
    tree = adapt(tree, marks, {0, deepest_level});
    leaf = tree.find(next);
  }
  for (int level = 2; level <= deepest_level; ++level) EXPECT_GE(tree.leaf_count(level), 8);
  EXPECT_EQ(faults_of(tree, plan_transfers(tree, 0.7)), std::set<std::string>());
}

/// The check by exhaustion finds each kind of error in a plan.
TEST(transfer_plan, with_an_error_does_not_pass_the_check) {
  for (const boundary_kind b : all_boundaries) {
    const octree tree = random_tree(1, b, 4);
    const transfer_plan right = plan_transfers(tree, 0.7);
    ASSERT_GT(right.restrictions.size() * right.corrections.size(), 0u);
    const auto found = [&](const std::string& fault, const auto& damage) {
      transfer_plan plan = right;
      damage(plan);
      EXPECT_EQ(faults_of(tree, plan).count(fault), 1u) << fault;
    };
    // Flips the first cell that is in the set, or is not.
    const auto flip_first = [](octant_set& cells, bool contained) {
      int k = 0;
      while (cells.contains(k) != contained) ++k;
      cells.words[k / 64] ^= std::uint64_t{1} << k % 64;
    };
    for (auto list : {&transfer_plan::restrictions, &transfer_plan::prolongations}) {
      for (const std::size_t k : {std::size_t{0}, (right.*list).size() / 2})
        found("needed cell not filled", [&](auto& p) { flip_first((p.*list)[k].cells, true); });
      found("filled twice", [&](auto& p) { (p.*list).push_back((p.*list).front()); });
      found("needed cell not filled", [&](auto& p) { (p.*list).pop_back(); });
    }
    const auto partial = [](const level_link& l) { return l.cells != octant_set::all(); };
    const auto add_to = [&](std::vector<level_link>& links) {
      flip_first(std::find_if(links.begin(), links.end(), partial)->cells, false);
    };
    found("restricted for no reader", [&](auto& p) { add_to(p.restrictions); });
    found("prolonged for no reader", [&](auto& p) { add_to(p.prolongations); });
    found("octant of a restriction", [](auto& p) { p.restrictions[1].octant ^= 1; });
    found("cell of a source", [](auto& p) { std::swap(p.sources[40], p.sources[41]); });
    found("rule", [](auto& p) { p.sources[0].rule[0] = axis_rule(3 - int(p.sources[0].rule[0])); });
    found("fine leaves",
          [](auto& p) { std::swap(p.corrections[0].fine[1], p.corrections[0].fine[2]); });
    found("too few corrections", [](auto& p) { p.corrections.pop_back(); });
    found("frame", [](auto& p) { p.frames.back().half_dx *= 2.0; });
  }
}

}  // namespace
}  // namespace stars::test
