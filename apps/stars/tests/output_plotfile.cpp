// SPDX-License-Identifier: Apache-2.0
// The text and binary content of a plotfile, and errors when it cannot be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/regrid.hpp"
#include "io/files.hpp"
#include "io/node_means.hpp"
#include "io/plotfile.hpp"
#include "problems/problems.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t written_fields = 19;

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(read_file(path));
  std::vector<std::string> out;
  for (std::string line; std::getline(text, line);) out.push_back(line);
  return out;
}

/// Returns the values of all grids of a level, found through Cell_H as a reader does:
/// [grid][field][z][y][x].
std::vector<std::vector<double>> grids_of(const fs::path& level) {
  const std::string content = read_file(level / "Cell_D_00000");
  std::vector<std::vector<double>> grids;
  for (const std::string& line : lines_of(level / "Cell_H")) {
    if (!line.starts_with("FabOnDisk: ")) continue;
    std::istringstream place(line);
    std::string label, name;
    std::size_t offset = 0;
    place >> label >> name >> offset;
    EXPECT_EQ(name, "Cell_D_00000");
    const std::size_t start = content.find('\n', offset) + 1;
    grids.emplace_back(written_fields * node_cells);
    const std::size_t size = grids.back().size() * sizeof(double);
    EXPECT_LE(start + size, content.size());
    std::memcpy(grids.back().data(), content.data() + start, size);
  }
  return grids;
}

std::vector<double> grid_values(const fs::path& level, std::size_t grid) {
  return grids_of(level).at(grid);
}

TEST(plotfile, header_describes_every_level) {
  const scratch_directory scratch;
  write_plotfile(scratch / "plt", sample_state(1));
  const auto lines = lines_of(scratch / "plt/Header");
  ASSERT_GT(lines.size(), 50u);
  EXPECT_EQ(lines[0], "HyperCLaw-V1.1");
  EXPECT_EQ(lines[1], "19");
  EXPECT_EQ(lines[2], "density");
  EXPECT_EQ(lines[3], "egas");
  EXPECT_EQ(lines[20], "z_velocity");
  const std::vector<std::string> expected = {
      "3",
      "0.1",
      "1",
      "-1.5 -1.5 -1.5",
      "1.5 1.5 1.5",
      "2 ",
      "((0,0,0) (7,7,7) (0,0,0)) ((0,0,0) (15,15,15) (0,0,0)) ",
      "7 7 ",
      "0.375 0.375 0.375",
      "0.1875 0.1875 0.1875",
      "0",
      "0",
      "0 1 0.1",
      "7",
      "-1.5 1.5"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(lines[21 + i], expected[i]);
  EXPECT_EQ(lines[38], "Level_0/Cell");
  EXPECT_EQ(lines[39], "1 8 0.1");
  // The second grid in Z-order is on the upper side in x.
  EXPECT_EQ(lines[44], "0 1.5");
  EXPECT_EQ(lines[45], "-1.5 0");
  EXPECT_EQ(lines.back(), "Level_1/Cell");
}

TEST(plotfile, holds_the_bits_of_the_state) {
  const scratch_directory scratch;
  snapshot state = sample_state(1);
  state.data[5] = -0.0;
  state.data[node_values + 17] = 1e-300;
  write_plotfile(scratch / "plt", state);
  for (std::size_t node = 0; node < 8; ++node) {
    const auto values = grid_values(scratch / "plt/Level_1", node);
    for (std::size_t i = 0; i < node_values; ++i)
      ASSERT_TRUE(same_bits(values[i], state.data[node * node_values + i])) << node << ' ' << i;
  }
}

TEST(plotfile, covers_the_domain_with_restricted_values_on_level_0) {
  const scratch_directory scratch;
  const snapshot state = sample_state(2);
  write_plotfile(scratch / "plt", state);
  const auto values = grid_values(scratch / "plt/Level_0", 0);
  node_means nodes(state.grid.tree(), state.data);
  const auto expected = nodes.data(state.grid.tree().root());
  for (std::size_t i = 0; i < node_values; ++i) ASSERT_TRUE(same_bits(values[i], expected[i]));
}

TEST(plotfile, derives_pressure_and_velocity) {
  const scratch_directory scratch;
  snapshot state = sample_state(0);
  const auto at = [&](std::size_t field) -> double& { return state.data[field * node_cells]; };
  at(0) = 2.0;
  at(1) = 10.0;
  at(4) = 2.0;
  at(5) = -4.0;
  at(6) = 0.0;
  write_plotfile(scratch / "plt", state);
  const auto values = grid_values(scratch / "plt/Level_0", 0);
  EXPECT_NEAR(values[15 * node_cells], 0.4 * (10.0 - 0.25 * 20.0), 1e-14);
  EXPECT_EQ(values[16 * node_cells], 1.0);
  EXPECT_EQ(values[17 * node_cells], -2.0);
  EXPECT_EQ(values[18 * node_cells], 0.0);
}

TEST(plotfile, takes_the_pressure_from_the_tracer_where_kinetic_energy_dominates) {
  const scratch_directory scratch;
  snapshot state = sample_state(0);
  state.data[0] = 1.0;
  state.data[node_cells] = 50.0 * (1.0 + 1e-5);
  state.data[2 * node_cells] = 0.5;
  state.data[4 * node_cells] = 10.0;
  state.data[5 * node_cells] = state.data[6 * node_cells] = 0.0;
  write_plotfile(scratch / "plt", state);
  const auto values = grid_values(scratch / "plt/Level_0", 0);
  EXPECT_NEAR(values[15 * node_cells], 0.4 * std::pow(0.5, 1.4), 1e-15);
}

TEST(plotfile, lists_the_extremes_of_every_grid) {
  const scratch_directory scratch;
  snapshot state = sample_state(0);
  state.data[100] = 0.25;
  state.data[200] = 4.0;
  write_plotfile(scratch / "plt", state);
  const auto lines = lines_of(scratch / "plt/Level_0/Cell_H");
  std::vector<std::string> rows;
  for (const auto& line : lines)
    if (line.find(',') != std::string::npos && line.back() == ',') rows.push_back(line);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].starts_with("0.25,"));
  EXPECT_TRUE(rows[1].starts_with("4,"));
}

TEST(plotfile, records_parameters_that_the_format_lacks) {
  const scratch_directory scratch;
  const snapshot state = sample_state(0);
  write_plotfile(scratch / "plt", state);
  const auto record = nlohmann::json::parse(read_file(scratch / "plt/stars.json"));
  EXPECT_EQ(record.at("problem"), "blast");
  EXPECT_EQ(record.at("boundary"), "reflecting");
  EXPECT_EQ(record.at("gamma").get<double>(), state.gamma);
  EXPECT_EQ(record.at("outflow").at("density").get<double>(), state.outflow[0]);
  EXPECT_EQ(record.at("outflow").at("species4").get<double>(), state.outflow[14]);
}

TEST(plotfile, replaces_an_older_one_completely) {
  const scratch_directory scratch;
  write_plotfile(scratch / "plt", sample_state(1));
  write_plotfile(scratch / "plt", sample_state(0));
  EXPECT_FALSE(fs::exists(scratch / "plt/Level_1"));
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(plotfile, leaves_any_other_directory_and_file_alone) {
  const scratch_directory scratch;
  fs::create_directory(scratch / "thesis");
  write_file(scratch / "thesis/chapter", "text");
  const auto text =
      error_of<output_error>([&] { write_plotfile(scratch / "thesis", sample_state(0)); });
  expect_contains(text, "thesis: cannot replace: it exists and is not a plotfile");
  EXPECT_EQ(read_file(scratch / "thesis/chapter"), "text");
  write_file(scratch / "notes", "text");
  EXPECT_THROW(write_plotfile(scratch / "notes", sample_state(0)), output_error);
  EXPECT_EQ(read_file(scratch / "notes"), "text");
}

TEST(plotfile, survives_a_failed_write) {
  const scratch_directory scratch;
  write_plotfile(scratch / "plt", sample_state(0));
  const std::string before = read_file(scratch / "plt/Level_0/Cell_D_00000");
  snapshot next = sample_state(1);
  {
    const file_size_limit limit(100'000);
    const auto text = error_of<output_error>([&] { write_plotfile(scratch / "plt", next); });
    expect_contains(text, "Level_1/Cell_D_00000: cannot write: File too large");
  }
  EXPECT_EQ(read_file(scratch / "plt/Level_0/Cell_D_00000"), before);
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(plotfile, needs_a_directory_to_write_to) {
  const scratch_directory scratch;
  const auto text =
      error_of<output_error>([&] { write_plotfile(scratch / "no/plt", sample_state(0)); });
  expect_contains(text, "cannot create the directory: No such file or directory");
  write_file(scratch / "file", "");
  EXPECT_THROW(write_plotfile(scratch / "file/plt", sample_state(0)), output_error);
}

TEST(plotfile, has_the_nodes_of_each_level_as_grids) {
  const scratch_directory scratch;
  const snapshot state = sample_state(mesh(two_levels(), 1.5));
  write_plotfile(scratch / "plt", state);
  const auto lines = lines_of(scratch / "plt/Header");
  EXPECT_EQ(lines[23], "2");  // finest level
  EXPECT_EQ(lines[27],
            "((0,0,0) (7,7,7) (0,0,0)) ((0,0,0) (15,15,15) (0,0,0)) "
            "((0,0,0) (31,31,31) (0,0,0)) ");
  for (const char* grids : {"0 1 0.1", "1 8 0.1", "2 8 0.1"})
    EXPECT_EQ(std::count(lines.begin(), lines.end(), grids), 1) << grids;
  EXPECT_EQ(lines_of(scratch / "plt/Level_2/Cell_H")[12], "((8,8,8) (15,15,15) (0,0,0))");
  node_means nodes(state.grid.tree(), state.data);
  for (int level = 0; level <= 2; ++level) {
    const auto numbers = nodes.nodes(level);
    const auto grids = grids_of(scratch / ("plt/Level_" + std::to_string(level)));
    ASSERT_EQ(grids.size(), numbers.size());
    for (std::size_t grid = 0; grid < numbers.size(); ++grid) {
      const auto expected = nodes.data(numbers[grid]);
      for (std::size_t i = 0; i < node_values; ++i)
        ASSERT_TRUE(same_bits(grids[grid][i], expected[i])) << level << ' ' << grid << ' ' << i;
    }
  }
}

/// Returns the path of the plotfile that the Python tests read; without them, a temporary one.
fs::path path_for_readers(const scratch_directory& scratch) {
  const char* wanted = std::getenv("STARS_WRITE_PLOTFILE");
  return wanted == nullptr ? scratch / "plt" : fs::path(wanted);
}

TEST(plotfile, of_a_blast_on_several_levels_has_its_energy_in_the_leaves) {
  const scratch_directory scratch;
  const fs::path path = path_for_readers(scratch);
  const snapshot state = initial_state(*blast_problem(3), {1, 3});
  write_plotfile(path, state);
  const octree& tree = state.grid.tree();
  node_means nodes(tree, state.data);
  double energy = 0.0;
  for (int level = 1; level <= 3; ++level) {
    const auto numbers = nodes.nodes(level);
    const auto grids = grids_of(path / ("Level_" + std::to_string(level)));
    for (std::size_t grid = 0; grid < numbers.size(); ++grid) {
      if (!tree.is_leaf(numbers[grid])) continue;
      const double dx = state.grid.frame_of(numbers[grid], state.boundary).dx();
      for (std::size_t i = 0; i < node_cells; ++i)
        energy += grids[grid][field::egas * node_cells + i] * dx * dx * dx;
    }
  }
  EXPECT_NEAR(energy, 1.0, 1e-12);
}

/// Returns the FNV-1a hash of the bytes of files.
std::uint64_t digest(const fs::path& folder, const std::vector<std::string>& names) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string& name : names)
    for (const char byte : read_file(folder / name))
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

TEST(plotfile, has_the_same_bytes_as_those_of_earlier_versions_on_a_uniform_mesh) {
  const scratch_directory scratch;
  snapshot state = sample_state(1);
  const std::vector<std::string> names = {
      "Header",         "Level_0/Cell_H",       "Level_0/Cell_D_00000",
      "Level_1/Cell_H", "Level_1/Cell_D_00000", "stars.json"};
  write_plotfile(scratch / "plt", state);
  EXPECT_EQ(digest(scratch / "plt", names), 0x6dd098aad3577eceu);
  state.data[0] = std::nextafter(state.data[0], 1.0);
  write_plotfile(scratch / "plt", state);
  EXPECT_NE(digest(scratch / "plt", names), 0x6dd098aad3577eceu);
}

TEST(plotfile, refuses_data_that_do_not_fit_the_mesh) {
  const scratch_directory scratch;
  snapshot state = sample_state(1);
  state.data.pop_back();
  EXPECT_THROW(write_plotfile(scratch / "plt", state), std::invalid_argument);
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace stars::testing
