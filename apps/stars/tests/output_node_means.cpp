// SPDX-License-Identifier: Apache-2.0
// The cells of interior nodes, and their exchange between parts of the domain.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "io/node_means.hpp"
#include "tests/mesh_support.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

TEST(node_means, are_in_the_octant_of_the_child) {
  const snapshot state = sample_state(1);
  node_means nodes(state.grid.tree(), state.data);
  const auto coarse = nodes.data(state.grid.tree().root());
  // Cell (6, 1, 2) of field 3 lies in child 1 (upper in x only), in its cells (4..5, 2..3, 4..5).
  double sum = 0.0;
  for (std::size_t z = 4; z < 6; ++z)
    for (std::size_t y = 2; y < 4; ++y)
      for (std::size_t x = 4; x < 6; ++x)
        sum += state.data[node_values + 3 * node_cells + x + 8 * (y + 8 * z)];
  EXPECT_NEAR(coarse[3 * node_cells + 6 + 8 * (1 + 8 * 2)], sum / 8.0, 1e-15);
}

TEST(node_means, of_a_mirrored_state_have_the_mirrored_bits) {
  const snapshot state = sample_state(1);
  std::vector<double> mirrored(state.data.size());
  for (std::size_t i = 0; i < mirrored.size(); ++i) {
    const std::size_t node = i / node_values;
    mirrored[i] = state.data[(node ^ 1) * node_values + ((i % node_values) ^ 7)];
  }
  node_means one(state.grid.tree(), state.data), other(state.grid.tree(), mirrored);
  const auto a = one.data(state.grid.tree().root()), b = other.data(state.grid.tree().root());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same_bits(a[i], b[i ^ 7]));
}

TEST(node_means, of_one_part_have_no_transfers) {
  const snapshot state = sample_state(0);
  node_means nodes(state.grid.tree(), state.data);
  EXPECT_TRUE(nodes.transfers().empty());
  EXPECT_EQ(nodes.nodes(0), std::vector<int>{0});
  EXPECT_TRUE(nodes.nodes(1).empty());
  EXPECT_EQ(nodes.data(0).data(), state.data.data());
}

/// Divides the leaves at random into `parts` runs.
std::vector<int> random_division(int leaves, int parts, test::generator& random) {
  std::vector<int> firsts{0};
  for (int part = 1; part < parts; ++part) {
    const int low = firsts.back() + 1, high = leaves - (parts - part);
    firsts.push_back(low + int(random() * double(high - low + 1)));
  }
  return firsts;
}

/// The parts of a state, and the messages between them.
class parts_of_state {
 public:
  parts_of_state(const snapshot& state, const std::vector<int>& firsts) {
    for (std::size_t p = 0; p < firsts.size(); ++p) {
      const int end = p + 1 < firsts.size() ? firsts[p + 1] : state.grid.subgrid_count();
      m_parts.push_back(std::make_unique<node_means>(state.grid.tree(), firsts, int(p),
                                                     data_of(state, firsts[p], end - firsts[p])));
      m_done.push_back(0);
    }
  }

  /// Does all transfers: each part in turn does those that do not have to wait for a message.
  /// Returns whether all are done.
  bool exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t p = 0; p < m_parts.size(); ++p)
        while (m_done[p] < m_parts[p]->transfers().size() && step(p)) moved = true;
    }
    for (std::size_t p = 0; p < m_parts.size(); ++p)
      if (m_done[p] < m_parts[p]->transfers().size()) return false;
    return true;
  }

  /// Changes a value in the first message that is sent.
  void damage_first_message() { m_damages = true; }

  [[nodiscard]] const std::vector<std::unique_ptr<node_means>>& parts() const { return m_parts; }
  [[nodiscard]] int messages() const { return m_messages; }

 private:
  bool step(std::size_t p) {
    node_means& nodes = *m_parts[p];
    const octant_transfer t = nodes.transfers()[m_done[p]];
    auto& queue = m_queues[{t.from, t.to}];
    if (t.from == int(p)) {
      EXPECT_GT(t.from, t.to);
      queue.push_back(nodes.give(t));
      if (std::exchange(m_damages, false)) queue.back()[3] += 1.0;
      ++m_messages;
    } else {
      if (queue.empty()) return false;
      nodes.take(t, queue.front());
      queue.pop_front();
    }
    ++m_done[p];
    return true;
  }

  std::vector<std::unique_ptr<node_means>> m_parts;
  std::vector<std::size_t> m_done;
  std::map<std::pair<int, int>, std::deque<std::vector<double>>> m_queues;
  int m_messages = 0;
  bool m_damages = false;
};

/// Returns the number of values that differ from those of the whole domain in one part; fails the
/// test unless each node is in one part.
int differences(const snapshot& state, parts_of_state& divided) {
  const octree& tree = state.grid.tree();
  node_means whole(tree, state.data);
  std::vector<int> count(std::size_t(tree.node_count()));
  int different = 0;
  for (const auto& part : divided.parts())
    for (int level = 0; level <= tree.finest_level(); ++level)
      for (const int node : part->nodes(level)) {
        ++count[std::size_t(node)];
        const auto a = part->data(node), b = whole.data(node);
        for (std::size_t i = 0; i < node_values; ++i) different += same_bits(a[i], b[i]) ? 0 : 1;
      }
  EXPECT_EQ(count, std::vector<int>(count.size(), 1));
  return different;
}

TEST(node_means, of_any_parts_are_those_of_the_whole_domain) {
  int messages = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto tree = test::random_tree(seed, boundary_kind::outflow, 5);
    const snapshot state = sample_state(mesh(tree, 1.0));
    test::generator random(seed);
    const int most = std::min(tree.leaf_count(), 9);
    parts_of_state divided(state, random_division(tree.leaf_count(), 1 + int(seed) % most, random));
    ASSERT_TRUE(divided.exchange()) << seed;
    EXPECT_EQ(differences(state, divided), 0) << seed;
    messages += divided.messages();
  }
  EXPECT_GT(messages, 100);
}

TEST(node_means, of_parts_of_one_leaf_are_those_of_the_whole_domain) {
  const snapshot state = sample_state(mesh(two_levels(), 1.0));
  std::vector<int> firsts;
  for (int leaf = 0; leaf < state.grid.subgrid_count(); ++leaf) firsts.push_back(leaf);
  parts_of_state divided(state, firsts);
  ASSERT_TRUE(divided.exchange());
  EXPECT_EQ(divided.messages(), 14);  // all leaves but the first, and no interior node
  EXPECT_EQ(differences(state, divided), 0);
}

TEST(node_means, depend_on_the_messages) {
  const snapshot state = sample_state(mesh(two_levels(), 1.0));
  parts_of_state divided(state, {0, 9});
  divided.damage_first_message();
  ASSERT_TRUE(divided.exchange());
  EXPECT_EQ(differences(state, divided), 1);  // in the root
}

TEST(node_means, refuse_transfers_out_of_order) {
  const snapshot state = sample_state(1);
  const std::vector<int> firsts{0, 3};
  node_means low(state.grid.tree(), firsts, 0, data_of(state, 0, 3));
  node_means high(state.grid.tree(), firsts, 1, data_of(state, 3, 5));
  ASSERT_EQ(high.transfers().size(), 5u);
  ASSERT_EQ(low.transfers().size(), 5u);
  const auto first = high.transfers()[0], second = high.transfers()[1];
  EXPECT_EQ(first, (octant_transfer{3, 1, 0}));
  expect_contains(error_of<std::logic_error>([&] { (void)high.give(second); }),
                  "the transfer of the node at level 1, place (0, 0, 1) is not the next one");
  const auto cells = high.give(first);
  EXPECT_THROW((void)high.give(first), std::logic_error);
  expect_contains(error_of<std::logic_error>([&] { (void)low.give(first); }), "is to this part");
  EXPECT_THROW(low.take(first, std::span(cells).first(100)), std::logic_error);
  low.take(first, cells);
  EXPECT_THROW(low.take(first, cells), std::logic_error);
  expect_contains(error_of<std::logic_error>([&] { (void)low.data(0); }), "not been exchanged");
}

TEST(node_means, have_no_data_of_other_parts) {
  const snapshot state = sample_state(1);
  node_means high(state.grid.tree(), std::vector<int>{0, 3}, 1, data_of(state, 3, 5));
  expect_contains(error_of<std::logic_error>([&] { (void)high.data(2); }), "is of another part");
}

TEST(node_means, refuse_impossible_parts) {
  const snapshot state = sample_state(1);
  const auto refusal = [&](const std::vector<int>& firsts, int part, int count) {
    return error_of<std::invalid_argument>(
        [&] { node_means(state.grid.tree(), firsts, part, data_of(state, 0, count)); });
  };
  expect_contains(refusal({}, 0, 8), "must begin with leaf 0");
  expect_contains(refusal({1, 4}, 0, 3), "must begin with leaf 0");
  expect_contains(refusal({0, 4, 4}, 0, 4), "each part must have a leaf");
  expect_contains(refusal({0, 8}, 0, 8), "each part must have a leaf");
  expect_contains(refusal({0, 4}, 2, 4), "there is no part 2");
  expect_contains(refusal({0, 4}, -1, 4), "there is no part -1");
  expect_contains(refusal({0, 5}, 1, 5), "38400 values for 3 leaves");
}

}  // namespace
}  // namespace stars::testing
