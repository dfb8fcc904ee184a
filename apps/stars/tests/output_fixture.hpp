// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/node_means.hpp"
#include "mesh/mesh.hpp"
#include "tests/scratch_directory.hpp"

namespace stars::testing {

/// Returns a state in which all numbers are different; they depend on their places only. The total
/// energy exceeds the kinetic energy by far.
inline snapshot sample_state(mesh grid) {
  snapshot state;
  state.grid = std::move(grid);
  state.time = 0.1;
  state.step = 7;
  state.gamma = 7.0 / 5.0;
  state.problem = "blast";
  state.boundary = boundary_kind::reflecting;
  for (std::size_t i = 0; i < state.outflow.size(); ++i) state.outflow[i] = 1.0 / (3.0 + double(i));
  state.data.resize(snapshot::size_of(state.grid));
  for (std::size_t i = 0; i < state.data.size(); ++i) {
    state.data[i] = 0.5 + double((i * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
    if (i / node_cells % stored_fields == field::egas) state.data[i] += 10.0;
  }
  return state;
}
inline snapshot sample_state(int level) { return sample_state(mesh(level, 1.5)); }

/// Returns the leaves of a tree with the children of one leaf in its place.
inline std::vector<node_key> with_children(const octree& tree, const node_key& leaf) {
  std::vector<node_key> leaves;
  for (const node_key& k : tree.leaves())
    for (int octant = 0; octant < (k == leaf ? 8 : 1); ++octant)
      leaves.push_back(k == leaf ? k.child(octant) : k);
  return leaves;
}

/// Returns a tree whose leaves are 8 nodes of level 2, in octant 0, and 7 nodes of level 1.
inline octree two_levels() { return octree(with_children(octree::uniform(1), {1, {0, 0, 0}})); }

/// Returns the data of a run of leaves.
inline std::span<const double> data_of(const snapshot& state, int first, int count) {
  return std::span(state.data)
      .subspan(std::size_t(first) * node_values, std::size_t(count) * node_values);
}

/// Returns whether all bits are equal, so that a NaN equals itself and -0 differs from 0.
inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Returns the text of the exception of type Error that `action` throws; fails the test if it
/// throws none.
template <class Error, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no exception";
  return {};
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

}  // namespace stars::testing
