// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "io/files.hpp"
#include "io/hdf5_skeleton.hpp"
#include "io/plot_fields.hpp"
#include "io/vtkhdf.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

using hdf5::handle;
using hdf5::operation;
using hdf5::put;

constexpr std::string_view verb = "write the VTKHDF file";
constexpr std::array<std::int64_t, 2> format_version = {2, 2};

using box = std::array<std::int32_t, 6>;  ///< first and last cell along x, y, z

/// Returns the boxes of the nodes of a level, in Z-order.
std::vector<box> boxes_of(const octree& tree, int level) {
  std::vector<node_key> nodes;
  for (int node = 0; node < tree.node_count(); ++node)
    if (tree.key(node).level == level) nodes.push_back(tree.key(node));
  std::sort(nodes.begin(), nodes.end());
  std::vector<box> boxes;
  for (const auto& [_, at] : nodes)
    boxes.push_back({at.x * edge, at.x * edge + edge - 1, at.y * edge, at.y * edge + edge - 1,
                     at.z * edge, at.z * edge + edge - 1});
  return boxes;
}

void put_level(hdf5::skeleton_builder& builder, hid_t root, const mesh& grid, int level) {
  const operation& op = builder.op();
  const std::vector<box> boxes = boxes_of(grid.tree(), level);
  const handle group = make_group(op, root, "Level" + std::to_string(level));
  const double dx = 2.0 * grid.xscale() / (edge << level);
  put(op, group.get(), "Spacing", std::array{dx, dx, dx});
  const std::array<hsize_t, 2> extents = {boxes.size(), 6};
  put_dataset(op, group.get(), "AMRBox", extents, H5T_STD_I32LE, H5T_NATIVE_INT32, boxes.data());
  const handle points = make_group(op, group.get(), "PointData");
  const handle fields = make_group(op, group.get(), "FieldData");
  const handle cells = make_group(op, group.get(), "CellData");
  const hsize_t count = boxes.size() * node_cells;
  for (const std::string& name : plot_field_names())
    builder.add_large_dataset(cells.get(), name, std::span(&count, 1), H5T_IEEE_F64LE);
}

void put_metadata(const operation& op, hid_t file, const snapshot& state) {
  const handle group = make_group(op, file, "stars");
  put(op, group.get(), "problem", std::string_view(state.problem));
  put(op, group.get(), "boundary", std::string_view(name_of(state.boundary)));
  put(op, group.get(), "time", state.time);
  put(op, group.get(), "step", std::int64_t{state.step});
  put(op, group.get(), "gamma", state.gamma);
  put(op, group.get(), "outflow", std::span<const double>(state.outflow));
}

hdf5::skeleton make_file(const operation& op, const snapshot& state) {
  return hdf5::make_skeleton(op, [&](hdf5::skeleton_builder& builder) {
    put_metadata(op, builder.file(), state);
    const handle root = make_group(op, builder.file(), "VTKHDF");
    const double begin = -state.grid.xscale();
    put(op, root.get(), "Version", std::span<const std::int64_t>(format_version));
    put(op, root.get(), "Type", std::string_view("OverlappingAMR"));
    put(op, root.get(), "GridDescription", std::string_view("XYZ"));
    put(op, root.get(), "Origin", std::array{begin, begin, begin});
    for (int level = 0; level <= state.grid.level(); ++level)
      put_level(builder, root.get(), state.grid, level);
  });
}

const fs::path& checked(const fs::path& file) {
  if (fs::is_directory(file)) throw output_error(file, verb, "a directory");
  return file;
}

}  // namespace

struct vtkhdf_writer::impl {
  impl(const fs::path& file, const snapshot& header) : staged(checked(file)) {
    output_file(staged.path()).close();
    positioned_file out(staged.path());
    // A limit is reported here and not by HDF5.
    out.resize(std::uint64_t(header.grid.tree().node_count()) * plot_values * sizeof(double));
    const hdf5::session only;
    content = make_file({file, verb}, header);
    out.resize(content.size);
    out.close();
    place.file = staged.path().string();
    for (const auto& data : content.datasets) place.offsets.push_back(data.begin);
  }

  staged_output staged;
  hdf5::skeleton content;
  vtkhdf_place place;
};

vtkhdf_writer::vtkhdf_writer(const fs::path& file, const snapshot& header)
    : m_impl(std::make_unique<impl>(file, header)) {}

vtkhdf_writer::~vtkhdf_writer() = default;

const vtkhdf_place& vtkhdf_writer::place() const { return m_impl->place; }

void vtkhdf_writer::commit() {
  positioned_file out(m_impl->staged.path());
  m_impl->content.write(out);
  out.close();
  m_impl->staged.commit();
}

void write_vtkhdf(const fs::path& file, const snapshot& state) {
  if (state.data.size() != snapshot::size_of(state.grid))
    throw std::invalid_argument("VTKHDF: " + std::to_string(state.data.size()) +
                                " values do not fit the mesh");
  vtkhdf_writer writer(file, state);
  node_means nodes(state.grid.tree(), state.data);
  write_vtkhdf_part(writer.place(), state, nodes);
  writer.commit();
}

}  // namespace stars
