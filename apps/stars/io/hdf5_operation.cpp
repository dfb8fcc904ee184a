// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5_operation.hpp"

#include "io/files.hpp"

namespace stars::hdf5 {

void operation::fail(const std::string& reason) const { throw output_error(file, verb, reason); }

handle operation::own(hid_t id, handle::closer close, const std::string& what) const {
  if (id < 0) fail(what + ": " + last_error());
  return {id, close};
}

void operation::check(herr_t status, const std::string& what) const {
  if (status < 0) fail(what + ": " + last_error());
}

namespace {

handle string_type(const operation& op, std::size_t size) {
  handle type = op.own(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  op.check(H5Tset_size(type.get(), size), "string type");
  op.check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "string type");
  return type;
}

void write_attribute(const operation& op, hid_t where, const std::string& name, hid_t stored,
                     hid_t in_memory, const void* data, hsize_t count) {
  const handle space = op.own(
      count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose, name);
  const handle attribute =
      op.own(H5Acreate2(where, name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT),
             H5Aclose, name);
  op.check(H5Awrite(attribute.get(), in_memory, data), name);
}

handle open_attribute(const operation& op, hid_t where, const std::string& name, H5T_class_t kind,
                      hssize_t count) {
  if (!has_attribute(op, where, name)) op.fail("it has no attribute '" + name + "'");
  handle attribute = op.own(H5Aopen(where, name.c_str(), H5P_DEFAULT), H5Aclose, name);
  const handle type = op.own(H5Aget_type(attribute.get()), H5Tclose, name);
  const handle space = op.own(H5Aget_space(attribute.get()), H5Sclose, name);
  if (H5Tget_class(type.get()) != kind || H5Sget_simple_extent_npoints(space.get()) != count)
    op.fail("attribute '" + name + "' has another type or size than expected");
  return attribute;
}

}  // namespace

void put(const operation& op, hid_t where, const std::string& name,
         std::span<const double> values) {
  write_attribute(op, where, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), values.size());
}

void put(const operation& op, hid_t where, const std::string& name,
         std::span<const std::int64_t> values) {
  write_attribute(op, where, name, H5T_STD_I64LE, H5T_NATIVE_INT64, values.data(), values.size());
}

void put(const operation& op, hid_t where, const std::string& name, double value) {
  put(op, where, name, std::span<const double>(&value, 1));
}

void put(const operation& op, hid_t where, const std::string& name, std::int64_t value) {
  put(op, where, name, std::span<const std::int64_t>(&value, 1));
}

void put(const operation& op, hid_t where, const std::string& name, std::string_view text) {
  // HDF5 has no empty strings; reading drops the padding of the shortest string.
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  const handle type = string_type(op, padded.size());
  write_attribute(op, where, name, type.get(), type.get(), padded.data(), 1);
}

bool has_attribute(const operation& op, hid_t where, const std::string& name) {
  const htri_t found = H5Aexists(where, name.c_str());
  op.check(found, "damaged: attribute '" + name + "'");
  return found > 0;
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

handle without_times(const operation& op, hid_t kind) {
  handle creation = op.own(H5Pcreate(kind), H5Pclose, "creation");
  op.check(H5Pset_obj_track_times(creation.get(), false), "creation");
  return creation;
}

handle make_group(const operation& op, hid_t where, const std::string& name) {
  const handle creation = without_times(op, H5P_GROUP_CREATE);
  return op.own(H5Gcreate2(where, name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose,
                name);
}

bool has_object(const operation& op, hid_t where, const std::string& name) {
  const htri_t found = H5Lexists(where, name.c_str(), H5P_DEFAULT);
  op.check(found, "damaged: '" + name + "'");
  return found > 0;
}

handle open_dataset(const operation& op, hid_t where, const std::string& name) {
  if (H5Lexists(where, name.c_str(), H5P_DEFAULT) <= 0) op.fail("it has no dataset '" + name + "'");
  return op.own(H5Dopen2(where, name.c_str(), H5P_DEFAULT), H5Dclose, name);
}

void put_dataset(const operation& op, hid_t where, const std::string& name,
                 std::span<const hsize_t> extents, hid_t stored, hid_t in_memory,
                 const void* data) {
  const handle space =
      op.own(H5Screate_simple(int(extents.size()), extents.data(), nullptr), H5Sclose, name);
  const handle creation = without_times(op, H5P_DATASET_CREATE);
  const handle dataset = op.own(H5Dcreate2(where, name.c_str(), stored, space.get(), H5P_DEFAULT,
                                           creation.get(), H5P_DEFAULT),
                                H5Dclose, name);
  op.check(H5Dwrite(dataset.get(), in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
}

}  // namespace stars::hdf5
