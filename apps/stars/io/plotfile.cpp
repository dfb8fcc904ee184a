// SPDX-License-Identifier: Apache-2.0
#include "io/plotfile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>

#include "io/files.hpp"
#include "io/names.hpp"
#include "io/octree.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view format_name = "HyperCLaw-V1.1";
// 64-bit IEEE numbers, least significant byte first; this text is part of the format.
constexpr std::string_view real_format = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))";
constexpr std::size_t derived_fields = 4;
constexpr std::size_t written_fields = stored_fields + derived_fields;
// Below this fraction of the total energy the internal energy is taken from the entropy tracer.
constexpr double dual_energy_switch = 0.001;

using text_buffer = std::back_insert_iterator<std::string>;

/// One level of the octree in the form in which it is written.
struct plot_level {
  int number = 0;
  std::span<const double> data;  // [node][field][z][y][x]

  [[nodiscard]] std::size_t nodes() const { return data.size() / node_values; }
  [[nodiscard]] int cells() const { return edge << number; }
};

std::string node_box(std::size_t node) {
  const triple at = node_key::at(max_level, node).place;
  const triple low{at.x * edge, at.y * edge, at.z * edge};
  return fmt::format("(({},{},{}) ({},{},{}) (0,0,0))", low.x, low.y, low.z, low.x + edge - 1,
                     low.y + edge - 1, low.z + edge - 1);
}

/// Appends pressure and velocity of a node to its conserved fields.
void add_derived(std::span<double> values, double gamma) {
  const auto at = [&](std::size_t f, std::size_t i) -> double& {
    return values[f * node_cells + i];
  };
  for (std::size_t i = 0; i < node_cells; ++i) {
    const double density = at(field::rho, i);
    const double momentum[3] = {at(field::sx, i), at(field::sy, i), at(field::sz, i)};
    double squares = 0.0;
    for (const double s : momentum) squares += s * s;
    const double total = at(field::egas, i);
    double internal = total - 0.5 * squares / density;
    if (internal <= dual_energy_switch * total) internal = std::pow(at(field::tau, i), gamma);
    at(stored_fields, i) = (gamma - 1.0) * internal;
    for (std::size_t axis = 0; axis < 3; ++axis)
      at(stored_fields + 1 + axis, i) = momentum[axis] / density;
  }
}

/// The smallest and largest value of every field of every node, as listed in Cell_H.
struct extremes {
  std::string smallest;
  std::string largest;

  void add_node(std::span<const double> values) {
    for (std::size_t f = 0; f < written_fields; ++f) {
      const auto cells = values.subspan(f * node_cells, node_cells);
      const auto [low, high] = std::minmax_element(cells.begin(), cells.end());
      fmt::format_to(text_buffer(smallest), "{},", *low);
      fmt::format_to(text_buffer(largest), "{},", *high);
    }
    smallest += '\n';
    largest += '\n';
  }
};

void write_text(const fs::path& path, std::string_view text) {
  output_file file(path);
  file.write(text);
  file.close();
}

/// Writes Cell_D_00000, which contains all grids one after the other, and Cell_H, which lists their
/// positions.
void write_level(const fs::path& directory, const plot_level& level, double gamma) {
  output_file file(directory / "Cell_D_00000");
  std::string boxes;
  std::string places;
  extremes range;
  std::vector<double> values(written_fields * node_cells);
  for (std::size_t node = 0; node < level.nodes(); ++node) {
    const auto stored = level.data.subspan(node * node_values, node_values);
    std::copy(stored.begin(), stored.end(), values.begin());
    add_derived(values, gamma);
    const std::string box = node_box(node);
    fmt::format_to(text_buffer(boxes), "{}\n", box);
    fmt::format_to(text_buffer(places), "FabOnDisk: Cell_D_00000 {}\n", file.position());
    range.add_node(values);
    file.write(fmt::format("FAB {}{} {}\n", real_format, box, written_fields));
    file.write(std::span<const double>(values));
  }
  file.close();
  const std::string extent = fmt::format("{},{}", level.nodes(), written_fields);
  write_text(
      directory / "Cell_H",
      fmt::format("1\n1\n{}\n0\n({} 0\n{})\n{}\n{}\n{}\n{}\n{}\n{}", written_fields, level.nodes(),
                  boxes, level.nodes(), places, extent, range.smallest, extent, range.largest));
}

/// Appends the grids of a level to the main header: bounds in space, then the path of the data.
void describe_level(std::string& text, const plot_level& level, const snapshot& state) {
  const auto out = text_buffer(text);
  fmt::format_to(out, "{} {} {}\n{}\n", level.number, level.nodes(), state.time, state.step);
  const double width = 2.0 * state.grid.xscale() / (1 << level.number);
  for (std::size_t node = 0; node < level.nodes(); ++node) {
    const triple place = node_key::at(max_level, node).place;
    for (int axis = 0; axis < 3; ++axis)
      fmt::format_to(out, "{} {}\n", -state.grid.xscale() + width * place[axis],
                     -state.grid.xscale() + width * (place[axis] + 1));
  }
  fmt::format_to(out, "Level_{}/Cell\n", level.number);
}

std::string header(const std::vector<plot_level>& levels, const snapshot& state) {
  std::string ratios;
  std::string domains;
  std::string steps;
  std::string spacings;
  for (const plot_level& level : levels) {
    const int last = level.cells() - 1;
    const double dx = 2.0 * state.grid.xscale() / level.cells();
    if (level.number > 0) ratios += "2 ";
    fmt::format_to(text_buffer(domains), "((0,0,0) ({0},{0},{0}) (0,0,0)) ", last);
    fmt::format_to(text_buffer(steps), "{} ", state.step);
    fmt::format_to(text_buffer(spacings), "{0} {0} {0}\n", dx);
  }
  const double end = state.grid.xscale();
  std::string text = fmt::format("{}\n{}\n", format_name, written_fields);
  for (const std::string& name : plotfile_fields()) text += name + '\n';
  fmt::format_to(text_buffer(text), "3\n{}\n{}\n", state.time, levels.back().number);
  fmt::format_to(text_buffer(text), "{0} {0} {0}\n{1} {1} {1}\n", -end, end);
  fmt::format_to(text_buffer(text), "{}\n{}\n{}\n{}", ratios, domains, steps, spacings);
  text += "0\n0\n";  // Cartesian coordinates, no boundary data
  for (const plot_level& level : levels) describe_level(text, level, state);
  return text;
}

std::string metadata(const snapshot& state) {
  nlohmann::ordered_json outflow;
  const auto names = plotfile_fields();
  for (std::size_t f = 0; f < stored_fields; ++f) outflow[names[f]] = state.outflow[f];
  const nlohmann::ordered_json record = {
      {"format", "stars-plotfile"},  {"version", 1},
      {"problem", state.problem},    {"boundary", name_of(state.boundary)},
      {"level", state.grid.level()}, {"xscale", state.grid.xscale()},
      {"time", state.time},          {"step", state.step},
      {"gamma", state.gamma},        {"outflow", outflow}};
  return record.dump(2) + '\n';
}

void check_snapshot(const snapshot& state) {
  const std::size_t expected = snapshot::size_of(state.grid);
  if (state.data.size() != expected)
    throw std::invalid_argument(fmt::format("snapshot: {} values on level {}, expected {}",
                                            state.data.size(), state.grid.level(), expected));
}

/// Throws unless `directory` does not exist or is a plotfile, which may be replaced.
void check_replaceable(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return;
  std::string first;
  std::getline(std::ifstream(directory / "Header") >> std::ws, first);
  if (first != format_name)
    throw output_error(directory, "replace", "it exists and is not a plotfile");
}

void make_directory(const fs::path& path) {
  std::error_code error;
  if (!fs::create_directory(path, error) && error)
    throw_system_error(path, "create the directory", error.value());
}

}  // namespace

std::vector<std::string> plotfile_fields() {
  std::vector<std::string> names(field_names.begin(), field_names.end());
  names.front() = "density";  // yt's name for this field
  for (const char* name : {"pressure", "x_velocity", "y_velocity", "z_velocity"})
    names.emplace_back(name);
  return names;
}

void write_plotfile(const fs::path& directory, const snapshot& state) {
  check_snapshot(state);
  require_uniform(state.grid, "plotfile");
  check_replaceable(directory);
  staged_output staged(directory);
  make_directory(staged.path());

  std::vector<std::vector<double>> coarser;  // finest first
  std::vector<plot_level> levels{{state.grid.level(), state.data}};
  for (int number = state.grid.level() - 1; number >= 0; --number) {
    coarser.push_back(restrict_level(levels.back().data));
    levels.push_back({number, coarser.back()});
  }
  std::reverse(levels.begin(), levels.end());

  for (const plot_level& level : levels) {
    const fs::path place = staged.path() / fmt::format("Level_{}", level.number);
    make_directory(place);
    write_level(place, level, state.gamma);
  }
  write_text(staged.path() / metadata_name, metadata(state));
  write_text(staged.path() / "Header", header(levels, state));
  staged.commit();
}

}  // namespace stars
