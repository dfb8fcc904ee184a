// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <utility>

#include "io/files.hpp"
#include "io/hdf5_skeleton.hpp"
#include "io/restart.hpp"
#include "io/restart_format.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

namespace format = restart_format;
using hdf5::handle;
using hdf5::operation;
using hdf5::put;

constexpr std::string_view verb = "write the restart file";

void put_header(const operation& op, hid_t file, const restart& content) {
  const snapshot& state = content.state;
  put(op, file, "format", format::name);
  put(op, file, "version", format::version);
  put(op, file, "problem", std::string_view(state.problem));
  put(op, file, "boundary", std::string_view(name_of(state.boundary)));
  put(op, file, "xscale", state.grid.xscale());
  put(op, file, "time", state.time);
  put(op, file, "step", std::int64_t{state.step});
  put(op, file, "gamma", state.gamma);
  put(op, file, "outflow", std::span<const double>(state.outflow));
}

void put_scheme(const operation& op, hid_t file, const restart& content) {
  const handle group = make_group(op, file, format::scheme);
  for (const auto& [name, value] : content.scheme)
    std::visit([&, &key = name](const auto& v) { put(op, group.get(), key, v); }, value);
}

std::vector<format::stored_key> keys_of(const octree& tree) {
  std::vector<format::stored_key> keys;
  for (const node_key& k : tree.leaves())
    keys.push_back({k.level, k.place.x, k.place.y, k.place.z});
  return keys;
}

/// The large datasets, in the order of their creation.
enum : std::size_t { leaves_data, checksums_data, state_data };

hdf5::skeleton make_file(const operation& op, const restart& content) {
  const auto leaf_count = static_cast<hsize_t>(content.state.grid.subgrid_count());
  return hdf5::make_skeleton(op, [&](hdf5::skeleton_builder& builder) {
    put_header(op, builder.file(), content);
    put_scheme(op, builder.file(), content);
    builder.add_large_dataset(builder.file(), format::leaves, format::leaf_extents{leaf_count, 4},
                              H5T_STD_I32LE);
    builder.add_large_dataset(builder.file(), format::checksums, std::span(&leaf_count, 1),
                              H5T_STD_U32LE);
    builder.add_large_dataset(builder.file(), format::state, format::extents_of_state(leaf_count),
                              H5T_IEEE_F64LE);
  });
}

/// Throws if a reader would refuse the tree.
void check_tree(const snapshot& state) { (void)state.grid.tree().with_boundary(state.boundary); }

const fs::path& checked(const fs::path& file) {
  if (fs::is_directory(file)) throw output_error(file, verb, "a directory");
  return file;
}

}  // namespace

bool restart_available() noexcept { return true; }

struct restart_writer::impl {
  impl(const fs::path& file, const restart& header)
      : staged(checked(file)), grid(header.state.grid) {
    output_file(staged.path()).close();
    positioned_file out(staged.path());
    // A limit is reported here and not by HDF5.
    out.resize(snapshot::size_of(grid) * sizeof(double));
    const hdf5::session only;
    content = make_file({file, verb}, header);
    out.resize(content.size);
    out.close();
    place = {staged.path().string(), content.datasets[state_data].begin};
  }

  staged_output staged;
  mesh grid;
  hdf5::skeleton content;
  restart_place place;
};

restart_writer::restart_writer(const fs::path& file, const restart& header) {
  check_tree(header.state);
  m_impl = std::make_unique<impl>(file, header);
}

restart_writer::~restart_writer() = default;

const restart_place& restart_writer::place() const { return m_impl->place; }

void restart_writer::commit(std::span<const std::uint32_t> checksums) {
  const octree& tree = m_impl->grid.tree();
  if (checksums.size() != std::size_t(tree.leaf_count()))
    throw std::invalid_argument("restart: " + std::to_string(checksums.size()) + " checksums for " +
                                std::to_string(tree.leaf_count()) + " leaves");
  const auto begin_of = [&](std::size_t n) { return m_impl->content.datasets[n].begin; };
  const auto keys = keys_of(tree);
  positioned_file out(m_impl->staged.path());
  m_impl->content.write(out);
  out.write(begin_of(leaves_data), std::as_bytes(std::span(keys)));
  out.write(begin_of(checksums_data), std::as_bytes(checksums));
  out.close();
  m_impl->staged.commit();
}

void write_restart(const fs::path& file, const restart& content) {
  if (content.state.data.size() != snapshot::size_of(content.state.grid))
    throw std::invalid_argument("restart: " + std::to_string(content.state.data.size()) +
                                " values do not fit the mesh");
  restart_writer writer(file, content);
  writer.commit(write_restart_part(writer.place(), 0, content.state.data));
}

}  // namespace stars
