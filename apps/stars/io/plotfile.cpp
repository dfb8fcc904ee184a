// SPDX-License-Identifier: Apache-2.0
#include "io/plotfile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string_view>

#include "io/files.hpp"
#include "io/names.hpp"
#include "io/plot_fields.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view format_name = "HyperCLaw-V1.1";
// 64-bit IEEE numbers, least significant byte first; this text is part of the format.
constexpr std::string_view real_format = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))";

using text_buffer = std::back_insert_iterator<std::string>;

/// The keys of the tree's nodes by level, in Z-order.
using levels_of_nodes = std::vector<std::vector<node_key>>;

levels_of_nodes levels_of(const octree& tree) {
  levels_of_nodes levels(std::size_t(tree.finest_level()) + 1);
  for (int node = 0; node < tree.node_count(); ++node)
    levels[std::size_t(tree.key(node).level)].push_back(tree.key(node));
  for (auto& nodes : levels) std::sort(nodes.begin(), nodes.end());
  return levels;
}

std::string node_box(const node_key& node) {
  const triple low{node.place.x * edge, node.place.y * edge, node.place.z * edge};
  return fmt::format("(({},{},{}) ({},{},{}) (0,0,0))", low.x, low.y, low.z, low.x + edge - 1,
                     low.y + edge - 1, low.z + edge - 1);
}

/// Adds the smallest and largest value of every field of a node to the records.
void add_extremes(plot_records& records, std::span<const double> values) {
  for (std::size_t f = 0; f < plot_fields; ++f) {
    const auto cells = values.subspan(f * node_cells, node_cells);
    const auto [low, high] = std::minmax_element(cells.begin(), cells.end());
    records.smallest.push_back(*low);
    records.largest.push_back(*high);
  }
}

void write_text(const fs::path& path, std::string_view text) {
  output_file file(path);
  file.write(text);
  file.close();
}

std::string level_name(std::size_t level) { return fmt::format("Level_{}", level); }
std::string data_name(std::size_t part) { return fmt::format("Cell_D_{:05}", part); }

/// Writes the grids of one part and level one after the other, and adds them to the records.
void write_grids(const fs::path& path, const std::vector<int>& numbers, node_means& nodes,
                 double gamma, plot_records& records) {
  output_file file(path);
  std::vector<double> values(plot_values);
  for (const int node : numbers) {
    fill_plot_fields(nodes.data(node), gamma, values);
    records.offsets.push_back(file.position());
    add_extremes(records, values);
    file.write(
        fmt::format("FAB {}{} {}\n", real_format, node_box(nodes.tree().key(node)), plot_fields));
    file.write(std::span<const double>(values));
  }
  file.close();
}

/// The part of the records of a domain's part that belongs to one level.
struct level_records {
  std::span<const std::uint64_t> offsets;
  std::span<const double> smallest, largest;

  level_records(const plot_records& all, std::size_t level) {
    const auto of_this = all.counts.begin() + std::ptrdiff_t(level);
    const auto first = std::accumulate(all.counts.begin(), of_this, std::uint64_t{0});
    offsets = std::span(all.offsets).subspan(first, *of_this);
    const auto fields = [&](const std::vector<double>& values) {
      return std::span(values).subspan(first * plot_fields, *of_this * plot_fields);
    };
    smallest = fields(all.smallest);
    largest = fields(all.largest);
  }
};

/// Appends a line of values for each grid.
void add_rows(std::string& text, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    fmt::format_to(text_buffer(text), "{},{}", values[i], (i + 1) % plot_fields ? "" : "\n");
}

/// Returns the content of Cell_H, which lists the grids of a level and their positions in files.
std::string level_header(const std::vector<node_key>& nodes, std::size_t level,
                         std::span<const plot_records> parts) {
  std::string boxes, places, smallest, largest;
  for (const node_key& node : nodes) fmt::format_to(text_buffer(boxes), "{}\n", node_box(node));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const level_records records(parts[part], level);
    for (const std::uint64_t offset : records.offsets)
      fmt::format_to(text_buffer(places), "FabOnDisk: {} {}\n", data_name(part), offset);
    add_rows(smallest, records.smallest);
    add_rows(largest, records.largest);
  }
  const std::string extent = fmt::format("{},{}", nodes.size(), plot_fields);
  return fmt::format("1\n1\n{}\n0\n({} 0\n{})\n{}\n{}\n{}\n{}\n{}\n{}", plot_fields, nodes.size(),
                     boxes, nodes.size(), places, extent, smallest, extent, largest);
}

/// Appends the grids of a level to the main header: bounds in space, then the path of the data.
void describe_level(std::string& text, const std::vector<node_key>& nodes, std::size_t level,
                    const snapshot& state) {
  const auto out = text_buffer(text);
  fmt::format_to(out, "{} {} {}\n{}\n", level, nodes.size(), state.time, state.step);
  const double width = 2.0 * state.grid.xscale() / (1 << level);
  for (const node_key& node : nodes)
    for (int axis = 0; axis < 3; ++axis)
      fmt::format_to(out, "{} {}\n", -state.grid.xscale() + width * node.place[axis],
                     -state.grid.xscale() + width * (node.place[axis] + 1));
  fmt::format_to(out, "{}/Cell\n", level_name(level));
}

std::string main_header(const levels_of_nodes& levels, const snapshot& state) {
  std::string ratios;
  std::string domains;
  std::string steps;
  std::string spacings;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const int cells = edge << level;
    const double dx = 2.0 * state.grid.xscale() / cells;
    if (level > 0) ratios += "2 ";
    fmt::format_to(text_buffer(domains), "((0,0,0) ({0},{0},{0}) (0,0,0)) ", cells - 1);
    fmt::format_to(text_buffer(steps), "{} ", state.step);
    fmt::format_to(text_buffer(spacings), "{0} {0} {0}\n", dx);
  }
  const double end = state.grid.xscale();
  std::string text = fmt::format("{}\n{}\n", format_name, plot_fields);
  for (const std::string& name : plot_field_names()) text += name + '\n';
  fmt::format_to(text_buffer(text), "3\n{}\n{}\n", state.time, levels.size() - 1);
  fmt::format_to(text_buffer(text), "{0} {0} {0}\n{1} {1} {1}\n", -end, end);
  fmt::format_to(text_buffer(text), "{}\n{}\n{}\n{}", ratios, domains, steps, spacings);
  text += "0\n0\n";  // Cartesian coordinates, no boundary data
  for (std::size_t level = 0; level < levels.size(); ++level)
    describe_level(text, levels[level], level, state);
  return text;
}

std::string metadata(const snapshot& state) {
  nlohmann::ordered_json outflow;
  const auto names = plot_field_names();
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

/// Throws unless the records are those of all nodes.
void check_records(const levels_of_nodes& levels, std::span<const plot_records> parts) {
  std::vector<std::uint64_t> found(levels.size());
  for (const plot_records& part : parts) {
    const auto grids = std::accumulate(part.counts.begin(), part.counts.end(), std::uint64_t{0});
    if (part.counts.size() != levels.size() || part.offsets.size() != grids ||
        part.smallest.size() != grids * plot_fields || part.largest.size() != grids * plot_fields)
      throw std::invalid_argument("plotfile: the records of a part are not complete");
    for (std::size_t level = 0; level < levels.size(); ++level) found[level] += part.counts[level];
  }
  for (std::size_t level = 0; level < levels.size(); ++level)
    if (found[level] != levels[level].size())
      throw std::invalid_argument(fmt::format("plotfile: records of {} grids on level {}, not {}",
                                              found[level], level, levels[level].size()));
}

/// Returns `directory` if a plotfile may be written there.
const fs::path& checked(const fs::path& directory) {
  check_replaceable(directory);
  return directory;
}

}  // namespace

plotfile_writer::plotfile_writer(const fs::path& directory, const snapshot& header)
    : m_staged(checked(directory)), m_header(header.without_data()) {
  make_directory(path());
  for (int level = 0; level <= header.grid.level(); ++level)
    make_directory(path() / level_name(std::size_t(level)));
}

void plotfile_writer::commit(std::span<const plot_records> parts) {
  const levels_of_nodes levels = levels_of(m_header.grid.tree());
  check_records(levels, parts);
  for (std::size_t level = 0; level < levels.size(); ++level)
    write_text(path() / level_name(level) / "Cell_H", level_header(levels[level], level, parts));
  write_text(path() / metadata_name, metadata(m_header));
  write_text(path() / "Header", main_header(levels, m_header));
  m_staged.commit();
}

plot_records write_plot_part(const fs::path& directory, const snapshot& header, node_means& nodes) {
  plot_records records;
  for (int level = 0; level <= header.grid.level(); ++level) {
    const std::vector<int> numbers = nodes.nodes(level);
    records.counts.push_back(numbers.size());
    if (numbers.empty()) continue;
    const fs::path path =
        directory / level_name(std::size_t(level)) / data_name(std::size_t(nodes.part()));
    write_grids(path, numbers, nodes, header.gamma, records);
  }
  return records;
}

void write_plotfile(const fs::path& directory, const snapshot& state) {
  check_snapshot(state);
  plotfile_writer file(directory, state);
  node_means nodes(state.grid.tree(), state.data);
  const plot_records records = write_plot_part(file.path(), state, nodes);
  file.commit(std::span(&records, 1));
}

}  // namespace stars
