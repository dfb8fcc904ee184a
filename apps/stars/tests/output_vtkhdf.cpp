// SPDX-License-Identifier: Apache-2.0
// VTKHDF files: their data, division among parts, and failures. The tests in verify/ read them by
// VTK.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/regrid.hpp"
#include "io/files.hpp"
#include "io/plot_fields.hpp"
#include "io/restart.hpp"
#include "io/vtkhdf.hpp"
#include "problems/problems.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

class vtkhdf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  }

  /// Writes the file by two parts, of which the higher one begins with leaf `border`.
  void write_by_parts(int border) {
    const octree& tree = m_state.grid.tree();
    const std::vector<int> firsts{0, border};
    node_means low(tree, firsts, 0, data_of(m_state, 0, border));
    node_means high(tree, firsts, 1, data_of(m_state, border, tree.leaf_count() - border));
    for (const octant_transfer& t : high.transfers()) low.take(t, high.give(t));
    vtkhdf_writer file(m_path, m_state.without_data());
    write_vtkhdf_part(file.place(), m_state.without_data(), high);
    write_vtkhdf_part(file.place(), m_state.without_data(), low);
    file.commit();
  }

  scratch_directory m_scratch;
  fs::path m_path = m_scratch / "plt.vtkhdf";
  snapshot m_state = sample_state(mesh(two_levels(), 1.5));
};

TEST_F(vtkhdf, has_the_fields_of_all_nodes) {
  node_means nodes(m_state.grid.tree(), m_state.data);
  vtkhdf_writer file(m_path, m_state);
  const std::vector<std::uint64_t> offsets = file.place().offsets;
  write_vtkhdf_part(file.place(), m_state, nodes);
  file.commit();
  const std::string content = read_file(m_path);
  ASSERT_EQ(offsets.size(), 3 * plot_fields);
  std::vector<double> expected(plot_values), found(node_cells);
  for (int level = 0; level <= 2; ++level) {
    const auto numbers = nodes.nodes(level);
    for (std::size_t box = 0; box < numbers.size(); ++box) {
      fill_plot_fields(nodes.data(numbers[box]), m_state.gamma, expected);
      for (std::size_t f = 0; f < plot_fields; ++f) {
        const auto offset = offsets[std::size_t(level) * plot_fields + f] + box * 4096;
        std::memcpy(found.data(), content.data() + offset, 4096);
        for (std::size_t i = 0; i < node_cells; ++i)
          ASSERT_TRUE(same_bits(found[i], expected[f * node_cells + i])) << level << box << f;
      }
    }
  }
}

TEST_F(vtkhdf, has_the_same_bytes_for_all_divisions) {
  write_vtkhdf(m_path, m_state);
  const std::string whole = read_file(m_path);
  for (const int border : {1, 8, 14}) {
    write_by_parts(border);
    EXPECT_TRUE(read_file(m_path) == whole) << border;
  }
  EXPECT_EQ(m_scratch.names().size(), 1u);
  m_state.data[0] += 1.0;
  write_by_parts(8);
  EXPECT_FALSE(read_file(m_path) == whole);
}

TEST_F(vtkhdf, survives_a_failed_write) {
  write_vtkhdf(m_path, sample_state(0));
  const std::string before = read_file(m_path);
  {
    const file_size_limit limit(300'000);
    expect_contains(error_of<output_error>([&] { write_vtkhdf(m_path, m_state); }),
                    "cannot write: File too large");
  }
  EXPECT_EQ(read_file(m_path), before);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST_F(vtkhdf, without_commit_does_not_appear) {
  { const vtkhdf_writer file(m_path, m_state); }
  EXPECT_TRUE(m_scratch.names().empty());
}

TEST_F(vtkhdf, refuses_what_it_cannot_write) {
  expect_contains(error_of<output_error>([&] { write_vtkhdf(m_scratch / ".", m_state); }),
                  "a directory");
  expect_contains(error_of<output_error>([&] { write_vtkhdf(m_scratch / "no/a", m_state); }),
                  "cannot create: No such file or directory");
  m_state.data.pop_back();
  EXPECT_THROW(write_vtkhdf(m_path, m_state), std::invalid_argument);
  EXPECT_TRUE(m_scratch.names().empty());
}

/// Writes the state of the plotfile that the Python tests read, for comparison.
TEST_F(vtkhdf, of_a_blast_on_several_levels_has_the_size_of_its_nodes) {
  const char* wanted = std::getenv("STARS_WRITE_VTKHDF");
  const fs::path path = wanted == nullptr ? m_path : fs::path(wanted);
  const snapshot state = initial_state(*blast_problem(3), {1, 3});
  write_vtkhdf(path, state);
  const auto data = std::size_t(state.grid.tree().node_count()) * plot_values * sizeof(double);
  EXPECT_GT(fs::file_size(path), data);
  EXPECT_LT(fs::file_size(path), data + 500'000);
}

}  // namespace
}  // namespace stars::testing
