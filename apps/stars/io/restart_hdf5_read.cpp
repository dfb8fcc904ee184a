// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "io/crc32.hpp"
#include "io/files.hpp"
#include "io/names.hpp"
#include "io/restart.hpp"
#include "io/restart_format.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

namespace format = restart_format;
using hdf5::handle;
using hdf5::operation;

/// An open restart file.
class reader {
 public:
  explicit reader(const fs::path& file) : m_op{file, "read the restart file"}, m_file(open()) {
    if (!hdf5::has_attribute(m_op, m_file.get(), "format") || text("format") != format::name)
      m_op.fail("an HDF5 file, but not a restart file of this program");
    m_version = hdf5::get_integer(m_op, m_file.get(), "version");
    if (m_version != format::version && m_version != format::uniform_version)
      m_op.fail("its format has version " + std::to_string(m_version) +
                ", this program reads the versions " + std::to_string(format::uniform_version) +
                " and " + std::to_string(format::version));
    m_leaf_count = find_leaf_count();
  }

  [[nodiscard]] int leaf_count() const { return m_leaf_count; }
  [[nodiscard]] restart header() const;
  [[nodiscard]] std::vector<double> data(int first, int count) const;

 private:
  [[nodiscard]] handle open() const;
  [[nodiscard]] std::string text(const char* name) const {
    return hdf5::get_text(m_op, m_file.get(), name);
  }
  [[nodiscard]] int find_leaf_count() const;
  [[nodiscard]] octree tree(boundary_kind boundary) const;
  [[nodiscard]] std::vector<node_key> leaves() const;
  [[nodiscard]] parameter value_of(hid_t where, const std::string& name) const;
  [[nodiscard]] std::map<std::string, parameter> scheme() const;
  void check_leaves(int first, std::span<const double> data) const;
  void read_rows(const char* name, std::span<const hsize_t> extents, int first, hid_t stored,
                 hid_t in_memory, void* to) const;

  hdf5::session m_session;
  operation m_op;
  handle m_file;
  std::int64_t m_version = 0;
  int m_leaf_count = 0;
};

handle reader::open() const {
  errno = 0;
  if (!std::ifstream(m_op.file)) throw_system_error(m_op.file, m_op.verb);
  if (fs::is_directory(m_op.file)) m_op.fail("a directory");
  if (H5Fis_hdf5(m_op.file.c_str()) <= 0) m_op.fail("not an HDF5 file");
  return m_op.own(H5Fopen(m_op.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                  "truncated or damaged");
}

/// Returns the number of leaves in the dataset of the state, which must have the expected shape.
int reader::find_leaf_count() const {
  const handle data = open_dataset(m_op, m_file.get(), format::state);
  const handle space = m_op.own(H5Dget_space(data.get()), H5Sclose, format::state);
  format::state_extents found{};
  if (H5Sget_simple_extent_ndims(space.get()) != format::state_rank ||
      H5Sget_simple_extent_dims(space.get(), found.data(), nullptr) != format::state_rank)
    m_op.fail("the shape of 'state' is not that of sub-grids");
  if (const auto cells = found.back(); cells != edge && (cells == 8 || cells == 16))
    m_op.fail("its sub-grids have " + std::to_string(cells) + "³ cells: give --sub-grid " +
              std::to_string(cells));
  if (found != format::extents_of_state(found[0]))
    m_op.fail("the shape of 'state' is not that of sub-grids");
  // A wrong number must not cause the allocation of much memory.
  if (found[0] < 1 || found[0] > fs::file_size(m_op.file) / (node_values * sizeof(double)))
    m_op.fail("truncated or damaged: " + std::to_string(found[0]) +
              " leaves do not fit into the file");
  return static_cast<int>(found[0]);
}

/// Reads rows of a dataset, from `first` on; fails unless it has as many rows as there are leaves.
void reader::read_rows(const char* name, std::span<const hsize_t> extents, int first, hid_t stored,
                       hid_t in_memory, void* to) const {
  const handle data = open_dataset(m_op, m_file.get(), name);
  const handle space = m_op.own(H5Dget_space(data.get()), H5Sclose, name);
  const handle type = m_op.own(H5Dget_type(data.get()), H5Tclose, name);
  std::vector<hsize_t> expected(extents.begin(), extents.end()), found(extents.size());
  expected[0] = static_cast<hsize_t>(m_leaf_count);
  if (H5Sget_simple_extent_ndims(space.get()) != int(extents.size()) ||
      H5Sget_simple_extent_dims(space.get(), found.data(), nullptr) != int(extents.size()) ||
      found != expected)
    m_op.fail(std::string("the shape of '") + name + "' does not fit " +
              std::to_string(m_leaf_count) + " leaves");
  if (H5Tequal(type.get(), stored) <= 0)
    m_op.fail(std::string("'") + name + "' has another type of numbers than expected");
  std::vector<hsize_t> begin(extents.size(), 0);
  begin[0] = static_cast<hsize_t>(first);
  m_op.check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, extents.data(),
                                 nullptr),
             name);
  const handle memory =
      m_op.own(H5Screate_simple(int(extents.size()), extents.data(), nullptr), H5Sclose, name);
  m_op.check(H5Dread(data.get(), in_memory, memory.get(), space.get(), H5P_DEFAULT, to),
             std::string("'") + name + "' is damaged");
}

std::vector<node_key> reader::leaves() const {
  const format::leaf_extents extents{static_cast<hsize_t>(m_leaf_count), 4};
  std::vector<format::stored_key> stored(extents[0]);
  read_rows(format::leaves, extents, 0, H5T_STD_I32LE, H5T_NATIVE_INT32, stored.data());
  std::vector<node_key> keys;
  for (const auto& [level, x, y, z] : stored) {
    keys.push_back({level, {x, y, z}});
    // A key that is not valid has no place in the order; the tree refuses it by name.
    const std::size_t n = keys.size() - 1;
    if (n > 0 && keys[n].is_valid() && keys[n - 1].is_valid() && !(keys[n - 1] < keys[n]))
      m_op.fail("its leaves are damaged: the " + describe(keys[n]) + " is not in Z-order");
  }
  return keys;
}

octree reader::tree(boundary_kind boundary) const {
  try {
    if (m_version != format::uniform_version) return octree(leaves(), boundary);
    const std::int64_t level = hdf5::get_integer(m_op, m_file.get(), "level");
    if (level < 0 || level > max_level) m_op.fail("impossible level " + std::to_string(level));
    if (std::int64_t{m_leaf_count} != std::int64_t{1} << 3 * level)
      m_op.fail("the shape of 'state' does not belong to level " + std::to_string(level));
    return octree::uniform(int(level), boundary);
  } catch (const std::invalid_argument& error) {
    m_op.fail(std::string("its leaves are damaged: ") + error.what());
  }
}

std::string attribute_name(const operation& op, hid_t where, hsize_t index) {
  const auto read = [&](char* buffer, std::size_t size) {
    return H5Aget_name_by_idx(where, ".", H5_INDEX_NAME, H5_ITER_INC, index, buffer, size,
                              H5P_DEFAULT);
  };
  const ssize_t length = read(nullptr, 0);
  if (length < 0) op.fail("scheme: " + hdf5::last_error());
  std::string name(static_cast<std::size_t>(length), '\0');
  if (read(name.data(), name.size() + 1) < 0) op.fail("scheme: " + hdf5::last_error());
  return name;
}

parameter reader::value_of(hid_t where, const std::string& name) const {
  const handle attribute = m_op.own(H5Aopen(where, name.c_str(), H5P_DEFAULT), H5Aclose, name);
  const handle type = m_op.own(H5Aget_type(attribute.get()), H5Tclose, name);
  switch (H5Tget_class(type.get())) {
    case H5T_FLOAT:
      return hdf5::get_number(m_op, where, name);
    case H5T_INTEGER:
      return hdf5::get_integer(m_op, where, name);
    case H5T_STRING:
      return hdf5::get_text(m_op, where, name);
    default:
      m_op.fail("parameter '" + name + "' has an unknown type");
  }
}

std::map<std::string, parameter> reader::scheme() const {
  if (!hdf5::has_object(m_op, m_file.get(), format::scheme)) m_op.fail("it has no group 'scheme'");
  const handle group =
      m_op.own(H5Gopen2(m_file.get(), format::scheme, H5P_DEFAULT), H5Gclose, format::scheme);
  H5O_info_t info{};
  m_op.check(H5Oget_info(group.get(), &info), format::scheme);
  std::map<std::string, parameter> found;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    std::string name = attribute_name(m_op, group.get(), i);
    found.emplace(name, value_of(group.get(), name));
  }
  return found;
}

restart reader::header() const {
  restart content;
  snapshot& state = content.state;
  state.problem = text("problem");
  const std::string kind = text("boundary");
  const auto found = find_boundary(kind);
  if (!found) m_op.fail("unknown boundary '" + kind + "'");
  state.boundary = *found;
  state.grid = {tree(state.boundary), hdf5::get_number(m_op, m_file.get(), "xscale")};
  state.time = hdf5::get_number(m_op, m_file.get(), "time");
  state.step = static_cast<long>(hdf5::get_integer(m_op, m_file.get(), "step"));
  state.gamma = hdf5::get_number(m_op, m_file.get(), "gamma");
  hdf5::get(m_op, m_file.get(), "outflow", state.outflow);
  content.scheme = scheme();
  return content;
}

void reader::check_leaves(int first, std::span<const double> data) const {
  const hsize_t count = data.size() / node_values;
  std::vector<std::uint32_t> checksums(count);
  read_rows(format::checksums, std::span(&count, 1), first, H5T_STD_U32LE, H5T_NATIVE_UINT32,
            checksums.data());
  for (std::size_t i = 0; i < count; ++i)
    if (crc32(std::as_bytes(data.subspan(i * node_values, node_values))) != checksums[i])
      m_op.fail("'state' is damaged: the data of leaf " + std::to_string(std::size_t(first) + i) +
                " do not have their checksum");
}

std::vector<double> reader::data(int first, int count) const {
  if (first < 0 || count < 0 || first > m_leaf_count - count)
    throw std::invalid_argument(m_op.file.string() + ": it has " + std::to_string(m_leaf_count) +
                                " leaves, not those from " + std::to_string(first) + " to " +
                                std::to_string(std::int64_t{first} + count - 1));
  std::vector<double> values(std::size_t(count) * node_values);
  if (count == 0) return values;
  const auto extents = format::extents_of_state(static_cast<hsize_t>(count));
  read_rows(format::state, extents, first, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
  if (m_version != format::uniform_version) check_leaves(first, values);
  return values;
}

}  // namespace

restart read_restart_header(const fs::path& file) { return reader(file).header(); }

std::vector<double> read_restart_part(const fs::path& file, int first, int count) {
  return reader(file).data(first, count);
}

restart read_restart(const fs::path& file) {
  const reader input(file);
  restart content = input.header();
  content.state.data = input.data(0, input.leaf_count());
  return content;
}

}  // namespace stars
