// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/hdf5_handle.hpp"
#include "io/names.hpp"
#include "io/node_means.hpp"
#include "io/restart.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

using hdf5::handle;

constexpr std::string_view format_name = "sedov-restart";
constexpr std::int64_t format_version = 2;
constexpr const char* state_name = "state";
constexpr const char* scheme_name = "scheme";
constexpr int state_rank = 5;

using extent = std::array<hsize_t, state_rank>;

/// [subgrid][field][z][y][x]
extent state_extent(int level) {
  return {hsize_t{1} << (3 * level), stored_fields, node_edge, node_edge, node_edge};
}

/// The context of every call: the file and the operation on it.
struct operation {
  fs::path file;
  std::string_view verb;

  [[noreturn]] void fail(const std::string& reason) const {
    throw output_error(file, verb, reason);
  }

  /// Takes ownership of the result of an HDF5 call that creates or opens an object.
  [[nodiscard]] handle own(hid_t id, handle::closer close, const std::string& what) const {
    if (id < 0) fail(what + ": " + hdf5::last_error());
    return {id, close};
  }

  void check(herr_t status, const std::string& what) const {
    if (status < 0) fail(what + ": " + hdf5::last_error());
  }
};

handle string_type(const operation& op, std::size_t size) {
  handle type = op.own(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  op.check(H5Tset_size(type.get(), size), "string type");
  op.check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "string type");
  return type;
}

// Writing -----------------------------------------------------------------------------------------

void write_attribute(const operation& op, hid_t where, const std::string& name, hid_t stored,
                     hid_t in_memory, const void* data, hsize_t count) {
  const handle space = op.own(
      count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose, name);
  const handle attribute =
      op.own(H5Acreate2(where, name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT),
             H5Aclose, name);
  op.check(H5Awrite(attribute.get(), in_memory, data), name);
}

void put(const operation& op, hid_t where, const std::string& name,
         std::span<const double> values) {
  write_attribute(op, where, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), values.size());
}

void put(const operation& op, hid_t where, const std::string& name, double value) {
  put(op, where, name, std::span<const double>(&value, 1));
}

void put(const operation& op, hid_t where, const std::string& name, std::int64_t value) {
  write_attribute(op, where, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value, 1);
}

void put(const operation& op, hid_t where, const std::string& name, std::string_view text) {
  // HDF5 has no empty strings; reading drops the padding of the shortest string.
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  const handle type = string_type(op, padded.size());
  write_attribute(op, where, name, type.get(), type.get(), padded.data(), 1);
}

void put_header(const operation& op, hid_t file, const restart& content) {
  const snapshot& state = content.state;
  put(op, file, "format", format_name);
  put(op, file, "version", format_version);
  put(op, file, "problem", std::string_view(state.problem));
  put(op, file, "boundary", std::string_view(name_of(state.boundary)));
  put(op, file, "level", std::int64_t{state.grid.level()});
  put(op, file, "xscale", state.grid.xscale());
  put(op, file, "time", state.time);
  put(op, file, "step", std::int64_t{state.step});
  put(op, file, "gamma", state.gamma);
  put(op, file, "outflow", std::span<const double>(state.outflow));
}

void put_scheme(const operation& op, hid_t file, const restart& content) {
  const handle group = op.own(H5Gcreate2(file, scheme_name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                              H5Gclose, scheme_name);
  for (const auto& [name, value] : content.scheme)
    std::visit([&, &key = name](const auto& v) { put(op, group.get(), key, v); }, value);
}

/// Writes one chunk for each sub-grid, with a checksum.
void put_state(const operation& op, hid_t file, const snapshot& state) {
  const extent size = state_extent(state.grid.level());
  extent chunk = size;
  chunk[0] = 1;
  const handle space =
      op.own(H5Screate_simple(state_rank, size.data(), nullptr), H5Sclose, state_name);
  const handle layout = op.own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, state_name);
  op.check(H5Pset_chunk(layout.get(), state_rank, chunk.data()), state_name);
  op.check(H5Pset_fletcher32(layout.get()), state_name);
  const handle data = op.own(H5Dcreate2(file, state_name, H5T_IEEE_F64LE, space.get(), H5P_DEFAULT,
                                        layout.get(), H5P_DEFAULT),
                             H5Dclose, state_name);
  op.check(
      H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, state.data.data()),
      state_name);
}

/// Returns the whole file as bytes, made in memory. HDF5 does not recover from a full disk: it
/// keeps the file open and tries again at exit. Hence the caller writes the bytes.
std::vector<std::byte> file_image(const operation& op, const restart& content) {
  const std::size_t expected = content.state.data.size() * sizeof(double) + (std::size_t{1} << 20);
  const handle driver = op.own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "memory file");
  op.check(H5Pset_fapl_core(driver.get(), expected, false), "memory file");
  const handle file = op.own(H5Fcreate(op.file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, driver.get()),
                             H5Fclose, "memory file");
  put_header(op, file.get(), content);
  put_scheme(op, file.get(), content);
  put_state(op, file.get(), content.state);
  op.check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "memory file");
  const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
  if (size < 0) op.fail("memory file: " + hdf5::last_error());
  std::vector<std::byte> image(static_cast<std::size_t>(size));
  if (H5Fget_file_image(file.get(), image.data(), image.size()) != size)
    op.fail("memory file: " + hdf5::last_error());
  return image;
}

// Reading -----------------------------------------------------------------------------------------

handle open_attribute(const operation& op, hid_t where, const std::string& name, H5T_class_t kind,
                      hssize_t count) {
  if (H5Aexists(where, name.c_str()) <= 0) op.fail("it has no attribute '" + name + "'");
  handle attribute = op.own(H5Aopen(where, name.c_str(), H5P_DEFAULT), H5Aclose, name);
  const handle type = op.own(H5Aget_type(attribute.get()), H5Tclose, name);
  const handle space = op.own(H5Aget_space(attribute.get()), H5Sclose, name);
  if (H5Tget_class(type.get()) != kind || H5Sget_simple_extent_npoints(space.get()) != count)
    op.fail("attribute '" + name + "' has another type or size than expected");
  return attribute;
}

void get(const operation& op, hid_t where, const std::string& name, std::span<double> values) {
  const handle attribute =
      open_attribute(op, where, name, H5T_FLOAT, static_cast<hssize_t>(values.size()));
  op.check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data()), name);
}

double get_number(const operation& op, hid_t where, const std::string& name) {
  double value = 0.0;
  get(op, where, name, std::span<double>(&value, 1));
  return value;
}

std::int64_t get_integer(const operation& op, hid_t where, const std::string& name) {
  const handle attribute = open_attribute(op, where, name, H5T_INTEGER, 1);
  std::int64_t value = 0;
  op.check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), name);
  return value;
}

std::string get_text(const operation& op, hid_t where, const std::string& name) {
  const handle attribute = open_attribute(op, where, name, H5T_STRING, 1);
  const handle stored = op.own(H5Aget_type(attribute.get()), H5Tclose, name);
  if (H5Tis_variable_str(stored.get()) != 0)
    op.fail("attribute '" + name + "' is a string of variable length");
  std::string text(H5Tget_size(stored.get()), '\0');
  const handle type = string_type(op, text.size());
  op.check(H5Aread(attribute.get(), type.get(), text.data()), name);
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

void check_format(const operation& op, hid_t file) {
  if (H5Aexists(file, "format") <= 0 || get_text(op, file, "format") != format_name)
    op.fail("an HDF5 file, but not a restart file of this program");
  const std::int64_t version = get_integer(op, file, "version");
  if (version != format_version)
    op.fail("its format has version " + std::to_string(version) + ", this program reads version " +
            std::to_string(format_version));
}

void get_header(const operation& op, hid_t file, restart& content) {
  snapshot& state = content.state;
  state.problem = get_text(op, file, "problem");
  const std::string kind = get_text(op, file, "boundary");
  const auto found = find_boundary(kind);
  if (!found) op.fail("unknown boundary '" + kind + "'");
  state.boundary = *found;
  const std::int64_t level = get_integer(op, file, "level");
  if (level < 0 || level > max_level) op.fail("impossible level " + std::to_string(level));
  state.grid = {static_cast<int>(level), get_number(op, file, "xscale")};
  state.time = get_number(op, file, "time");
  state.step = static_cast<long>(get_integer(op, file, "step"));
  state.gamma = get_number(op, file, "gamma");
  get(op, file, "outflow", state.outflow);
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

parameter get_parameter(const operation& op, hid_t where, const std::string& name) {
  const handle attribute = op.own(H5Aopen(where, name.c_str(), H5P_DEFAULT), H5Aclose, name);
  const handle type = op.own(H5Aget_type(attribute.get()), H5Tclose, name);
  switch (H5Tget_class(type.get())) {
    case H5T_FLOAT:
      return get_number(op, where, name);
    case H5T_INTEGER:
      return get_integer(op, where, name);
    case H5T_STRING:
      return get_text(op, where, name);
    default:
      op.fail("parameter '" + name + "' has an unknown type");
  }
}

void get_scheme(const operation& op, hid_t file, restart& content) {
  if (H5Lexists(file, scheme_name, H5P_DEFAULT) <= 0) op.fail("it has no group 'scheme'");
  const handle group = op.own(H5Gopen2(file, scheme_name, H5P_DEFAULT), H5Gclose, scheme_name);
  H5O_info_t info{};
  op.check(H5Oget_info(group.get(), &info), scheme_name);
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    std::string name = attribute_name(op, group.get(), i);
    content.scheme.emplace(name, get_parameter(op, group.get(), name));
  }
}

void get_state(const operation& op, hid_t file, snapshot& state) {
  if (H5Lexists(file, state_name, H5P_DEFAULT) <= 0) op.fail("it has no dataset 'state'");
  const handle data = op.own(H5Dopen2(file, state_name, H5P_DEFAULT), H5Dclose, state_name);
  const handle space = op.own(H5Dget_space(data.get()), H5Sclose, state_name);
  const handle type = op.own(H5Dget_type(data.get()), H5Tclose, state_name);
  const extent expected = state_extent(state.grid.level());
  extent found{};
  if (H5Sget_simple_extent_ndims(space.get()) != state_rank ||
      H5Sget_simple_extent_dims(space.get(), found.data(), nullptr) != state_rank ||
      found != expected)
    op.fail("the shape of 'state' does not belong to level " + std::to_string(state.grid.level()));
  if (H5Tequal(type.get(), H5T_IEEE_F64LE) <= 0) op.fail("'state' does not hold 64-bit numbers");
  state.data.resize(snapshot::size_of(state.grid));
  op.check(H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, state.data.data()),
           "'state' is damaged");
}

}  // namespace

bool restart_available() noexcept { return true; }

void write_restart(const fs::path& file, const restart& content) {
  require_uniform(content.state.grid, "restart");
  const int level = content.state.grid.level();
  if (content.state.data.size() != snapshot::size_of(content.state.grid))
    throw std::invalid_argument("restart: " + std::to_string(content.state.data.size()) +
                                " values do not fit level " + std::to_string(level));
  if (fs::is_directory(file)) throw output_error(file, "write the restart file", "a directory");
  const hdf5::silence quiet;
  staged_output staged(file);
  const auto image = file_image({file, "write the restart file"}, content);
  output_file out(staged.path());
  out.write(std::span<const std::byte>(image));
  out.close();
  staged.commit();
}

restart read_restart(const fs::path& file) {
  const operation op{file, "read the restart file"};
  errno = 0;
  if (!std::ifstream(file)) throw_system_error(file, op.verb);
  if (fs::is_directory(file)) op.fail("a directory");
  const hdf5::silence quiet;
  if (H5Fis_hdf5(file.c_str()) <= 0) op.fail("not an HDF5 file");
  const handle input =
      op.own(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "truncated or damaged");
  restart content;
  check_format(op, input.get());
  get_header(op, input.get(), content);
  get_state(op, input.get(), content.state);
  get_scheme(op, input.get(), content);
  return content;
}

}  // namespace stars
