// SPDX-License-Identifier: Apache-2.0
// Restart files: bitwise round trip, and every kind of file that must be refused.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/restart.hpp"
#include "tests/mesh_support.hpp"
#include "tests/output_restart_support.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

class restart_file : public restart_test {};

TEST_F(restart_file, returns_every_bit) {
  restart written = sample_restart(two_levels());
  written.state.data[0] = -0.0;
  written.state.data[1] = std::numeric_limits<double>::denorm_min();
  written.state.data[2] = -std::numeric_limits<double>::infinity();
  written.state.data[3] = std::bit_cast<double>(std::uint64_t{0x7ff800000000beef});
  write_restart(m_path, written);
  const restart read = read_restart(m_path);
  ASSERT_EQ(read.state.data.size(), written.state.data.size());
  for (std::size_t i = 0; i < read.state.data.size(); ++i)
    ASSERT_TRUE(same_bits(read.state.data[i], written.state.data[i])) << i;
  EXPECT_TRUE(same_bits(read.state.time, written.state.time));
  EXPECT_EQ(read.state.outflow, written.state.outflow);
  EXPECT_EQ(read.state.step, written.state.step);
  EXPECT_EQ(read.state.gamma, written.state.gamma);
  EXPECT_EQ(read.state.problem, written.state.problem);
  EXPECT_EQ(read.state.boundary, written.state.boundary);
  EXPECT_TRUE(read.state.grid == written.state.grid);
  EXPECT_EQ(read.scheme, written.scheme);
  EXPECT_TRUE(same_bits(std::get<double>(read.scheme.at("floor")), -0.0));
}

TEST_F(restart_file, holds_a_single_subgrid_and_no_parameters) {
  restart written = sample_restart(0);
  written.scheme.clear();
  write_restart(m_path, written);
  const restart read = read_restart(m_path);
  EXPECT_EQ(read.state.data, written.state.data);
  EXPECT_TRUE(read.scheme.empty());
}

TEST_F(restart_file, replaces_an_older_one) {
  write_restart(m_path, sample_restart(1));
  write_restart(m_path, sample_restart(0));
  EXPECT_EQ(read_restart(m_path).state.grid.level(), 0);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST_F(restart_file, survives_a_failed_write) {
  write_restart(m_path, sample_restart(0));
  const std::string before = read_file(m_path);
  {
    const file_size_limit limit(100'000);
    const auto text = error_of<output_error>([&] { write_restart(m_path, sample_restart(1)); });
    expect_contains(text, "cannot write: File too large");
  }
  EXPECT_EQ(read_file(m_path), before);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST_F(restart_file, needs_a_directory_to_write_to) {
  const auto text =
      error_of<output_error>([&] { write_restart(m_scratch / "no/a.h5", sample_restart(0)); });
  expect_contains(text, "cannot create: No such file or directory");
  EXPECT_THROW(write_restart(m_scratch / ".", sample_restart(0)), output_error);
}

TEST_F(restart_file, refuses_data_that_do_not_fit_the_mesh) {
  restart content = sample_restart(0);
  content.state.data.push_back(0.0);
  EXPECT_THROW(write_restart(m_path, content), std::invalid_argument);
}

TEST_F(restart_file, that_is_absent_is_named) {
  expect_contains(read_error(), "restart.h5: cannot read the restart file: No such file");
}

TEST_F(restart_file, that_is_no_hdf5_is_refused) {
  write_file(m_path, "plain text, long enough to be looked at by a reader of binary files");
  expect_contains(read_error(), "not an HDF5 file");
  write_file(m_path, "");
  expect_contains(read_error(), "not an HDF5 file");
  m_path = m_scratch / ".";
  expect_contains(read_error(), "a directory");
}

TEST_F(restart_file, that_is_truncated_is_refused_wherever_it_ends) {
  write_restart(m_path, sample_restart(0));
  const std::string whole = read_file(m_path);
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{600}}) {
    write_file(m_path, whole.substr(0, size));
    expect_contains(read_error(), "cannot read the restart file");
  }
}

TEST_F(restart_file, with_one_wrong_bit_in_the_state_is_refused) {
  const restart written = sample_restart(0);
  write_restart(m_path, written);
  std::string content = read_file(m_path);
  const double value = written.state.data[1234];
  const std::string bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  const auto place = content.find(bytes);
  ASSERT_NE(place, std::string::npos);
  content[place] = static_cast<char>(content[place] ^ 1);
  write_file(m_path, content);
  expect_contains(read_error(), "'state' is damaged");
}

TEST_F(restart_file, of_any_tree_returns_its_leaves) {
  for (const test::tree_case& c : test::tree_cases(4)) {
    restart written = sample_restart(mesh(test::random_tree(c.seed, c.boundary, 4), 0.5));
    written.state.boundary = c.boundary;
    write_restart(m_path, written);
    const restart read = read_restart(m_path);
    EXPECT_TRUE(read.state.grid == written.state.grid) << c;
    EXPECT_EQ(read.state.data, written.state.data) << c;
  }
}

TEST_F(restart_file, without_data_has_everything_else) {
  const restart written = sample_restart(two_levels());
  write_restart(m_path, written);
  const restart read = read_restart_header(m_path);
  EXPECT_TRUE(read.state.data.empty());
  EXPECT_EQ(read.state.grid.subgrid_count(), 15);
  EXPECT_EQ(read.state.time, written.state.time);
  EXPECT_EQ(read.scheme, written.scheme);
}

TEST_F(restart_file, of_a_tree_that_the_boundary_does_not_allow_is_not_written) {
  // Across periodic faces the leaves in the corner are beside those of level 1.
  restart content = sample_restart(octree(with_children(two_levels(), {2, {0, 0, 0}})));
  content.state.boundary = boundary_kind::periodic;
  expect_contains(error_of<std::invalid_argument>([&] { write_restart(m_path, content); }),
                  "not balanced");
  EXPECT_TRUE(m_scratch.names().empty());
}

/// Replaces the keys of the leaves in a file.
void replace_keys(const fs::path& path, const octree& tree, std::span<const node_key> by) {
  const auto bytes = [](std::span<const node_key> keys) {
    std::string all;
    for (const node_key& k : keys) {
      const std::int32_t stored[4] = {k.level, k.place.x, k.place.y, k.place.z};
      all.append(reinterpret_cast<const char*>(stored), sizeof(stored));
    }
    return all;
  };
  const std::string before = bytes(tree.leaves()), after = bytes(by);
  ASSERT_EQ(before.size(), after.size());
  std::string content = read_file(path);
  const auto place = content.find(before);
  ASSERT_NE(place, std::string::npos);
  write_file(path, content.replace(place, after.size(), after));
}

/// Replaces the key of one leaf.
void replace_key(const fs::path& path, const octree& tree, int leaf, const node_key& by) {
  std::vector<node_key> keys(tree.leaves().begin(), tree.leaves().end());
  keys[std::size_t(leaf)] = by;
  replace_keys(path, tree, keys);
}

TEST_F(restart_file, with_leaves_that_are_no_octree_is_refused) {
  const octree tree = two_levels();  // leaves: 8 nodes of level 2, then octants 1 … 7
  const auto refusal = [&](int leaf, const node_key& by) {
    write_restart(m_path, sample_restart(tree));
    replace_key(m_path, tree, leaf, by);
    return read_error();
  };
  expect_contains(refusal(0, {1, {0, 0, 0}}),
                  "leaves are damaged: octree: node at level 2, place (1, 0, 0) overlaps another");
  expect_contains(
      refusal(8, {2, {2, 0, 0}}),
      "leaves are damaged: octree: no leaf covers the node at level 2, place (3, 0, 0)");
  expect_contains(refusal(7, {1, {0, 0, 0}}),
                  "leaves are damaged: the node at level 1, place (0, 0, 0) is not in Z-order");
  expect_contains(refusal(3, {99, {1, 1, 0}}), "node at level 99, place (1, 1, 0) is not in the");
  expect_contains(refusal(3, {-1, {1, 1, 0}}), "node at level -1, place (1, 1, 0) is not in the");
  expect_contains(refusal(3, {2, {5, 1, 0}}), "node at level 2, place (5, 1, 0) is not in the");
}

TEST_F(restart_file, with_leaves_that_are_not_balanced_is_refused) {
  // The node with leaves of level 3 moves from the corner of the domain to its centre.
  const octree tree(with_children(two_levels(), {2, {0, 0, 0}}));
  write_restart(m_path, sample_restart(tree));
  replace_keys(m_path, tree, with_children(two_levels(), {2, {1, 1, 1}}));
  expect_contains(read_error(), "octree: not balanced: the leaf node at level 1");
}

TEST_F(restart_file, with_a_wrong_checksum_is_refused_and_the_leaf_is_named) {
  const restart written = sample_restart(1);
  write_restart(m_path, written);
  std::string content = read_file(m_path);
  const double value = written.state.data[5 * node_values + 17];
  const auto place =
      content.find(std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
  ASSERT_NE(place, std::string::npos);
  content[place + 7] = static_cast<char>(content[place + 7] ^ 0x80);  // the sign
  write_file(m_path, content);
  expect_contains(read_error(),
                  "'state' is damaged: the data of leaf 5 do not have their checksum");
  EXPECT_EQ(read_restart_part(m_path, 0, 5).size(), 5 * node_values);
  EXPECT_EQ(read_restart_part(m_path, 6, 2).size(), 2 * node_values);
  EXPECT_THROW((void)read_restart_part(m_path, 4, 3), output_error);
}

TEST_F(restart_file, with_any_damaged_byte_is_refused_or_read_correctly) {
  const restart written = sample_restart(two_levels());
  write_restart(m_path, written);
  const std::string whole = read_file(m_path);
  const std::size_t data = written.state.data.size() * sizeof(double);
  ASSERT_GT(whole.size(), data);
  test::generator random(3);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string damaged = whole;
    // Most of the bytes are data, at the end of the file: two of three rounds damage the others.
    const std::size_t size = round % 3 == 0 ? whole.size() : whole.size() - data;
    char& byte = damaged[std::size_t(random() * double(size))];
    byte = static_cast<char>(byte ^ (1 << int(random() * 8.0)));
    write_file(m_path, damaged);
    try {
      const restart read = read_restart(m_path);
      ASSERT_EQ(read.state.data, written.state.data) << round;
      ASSERT_TRUE(read.state.grid == written.state.grid) << round;
      ASSERT_EQ(read.state.time, written.state.time) << round;
      ASSERT_EQ(read.state.outflow, written.state.outflow) << round;
      ASSERT_EQ(read.state.problem, written.state.problem) << round;
      ASSERT_EQ(read.scheme, written.scheme) << round;
    } catch (const output_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

// Files of version 2 ------------------------------------------------------------------------------

/// Version 2 had no checksums of its metadata, so that these can be changed.
class old_restart_file : public restart_test {
 protected:
  void SetUp() override {
    restart_test::SetUp();
    if (!IsSkipped()) fs::copy_file(fs::path(STARS_TEST_DATA) / "restart_version2.h5", m_path);
  }

  /// Replaces the only occurrence of `from` by a text of the same length.
  void patch(const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    std::string content = read_file(m_path);
    const auto place = content.find(from);
    ASSERT_NE(place, std::string::npos);
    ASSERT_EQ(content.find(from, place + 1), std::string::npos);
    write_file(m_path, content.replace(place, from.size(), to));
  }
};

TEST_F(old_restart_file, returns_every_bit) {
  const restart read = read_restart(m_path);
  EXPECT_TRUE(read.state.grid == mesh(octree::uniform(0, boundary_kind::reflecting), 1.5));
  EXPECT_EQ(read.state.time, 0.1);
  EXPECT_EQ(read.state.step, 7);
  EXPECT_EQ(read.state.gamma, 1.4);
  EXPECT_EQ(read.state.problem, "blast");
  EXPECT_EQ(read.state.boundary, boundary_kind::reflecting);
  EXPECT_EQ(read.state.outflow, sample_state(0).outflow);
  ASSERT_EQ(read.state.data.size(), node_values);
  for (std::size_t i = 0; i < node_values; ++i)
    ASSERT_EQ(read.state.data[i], 0.5 + double((i * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53) << i;
  const std::map<std::string, parameter> scheme = {{"reconstruction", std::string("ppm")},
                                                   {"cfl", 0.4},
                                                   {"axis", std::int64_t{2}},
                                                   {"floor", -0.0},
                                                   {"remark", std::string()}};
  EXPECT_EQ(read.scheme, scheme);
  EXPECT_EQ(read_restart_part(m_path, 0, 1), read.state.data);
}

TEST_F(old_restart_file, is_written_again_in_the_present_version) {
  const restart old = read_restart(m_path);
  const fs::path path = m_scratch / "new.h5";
  write_restart(path, old);
  const restart read = read_restart(path);
  EXPECT_EQ(read.state.data, old.state.data);
  EXPECT_TRUE(read.state.grid == old.state.grid);
  EXPECT_EQ(read.scheme, old.scheme);
}

TEST_F(old_restart_file, with_one_wrong_bit_in_the_state_is_refused) {
  std::string content = read_file(m_path);
  const double value = 0.5;  // the first one
  const auto place =
      content.find(std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
  ASSERT_NE(place, std::string::npos);
  content[place + 8] = static_cast<char>(content[place + 8] ^ 1);
  write_file(m_path, content);
  expect_contains(read_error(), "'state' is damaged");
}

TEST_F(old_restart_file, of_another_program_is_refused) {
  patch("sedov-restart", "other-program");
  expect_contains(read_error(), "not a restart file of this program");
}

TEST_F(old_restart_file, of_an_unknown_version_is_refused) {
  std::string content = read_file(m_path);
  const auto name = content.find("version");
  ASSERT_NE(name, std::string::npos);
  const auto value = content.find(std::string("\2\0\0\0\0\0\0\0", 8), name);
  ASSERT_NE(value, std::string::npos);
  content[value] = 9;
  write_file(m_path, content);
  expect_contains(read_error(), "has version 9, this program reads the versions 2 and 3");
}

TEST_F(old_restart_file, without_an_attribute_is_refused) {
  patch("xscale", "xxxxxx");
  expect_contains(read_error(), "no attribute 'xscale'");
}

TEST_F(old_restart_file, with_an_unknown_boundary_is_refused) {
  patch("reflecting", "transmuted");
  expect_contains(read_error(), "unknown boundary 'transmuted'");
}

}  // namespace
}  // namespace stars::testing
