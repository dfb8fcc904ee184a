// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "io/hdf5_handle.hpp"

namespace stars::hdf5 {

/// The context of calls of HDF5: the file and the operation on it. Every failure throws
/// `output_error` with both and the innermost message of HDF5.
struct operation {
  std::filesystem::path file;
  std::string_view verb;

  [[noreturn]] void fail(const std::string& reason) const;
  /// Takes ownership of the result of a call that creates or opens an object.
  [[nodiscard]] handle own(hid_t id, handle::closer close, const std::string& what) const;
  void check(herr_t status, const std::string& what) const;
};

// Attributes of an object: numbers, arrays of numbers and texts. ------------------------------

void put(const operation& op, hid_t where, const std::string& name, std::span<const double> values);
void put(const operation& op, hid_t where, const std::string& name,
         std::span<const std::int64_t> values);
void put(const operation& op, hid_t where, const std::string& name, double value);
void put(const operation& op, hid_t where, const std::string& name, std::int64_t value);
void put(const operation& op, hid_t where, const std::string& name, std::string_view text);

[[nodiscard]] bool has_attribute(const operation& op, hid_t where, const std::string& name);
/// Return the value of an attribute. Fail if it is absent, or of another type or size.
void get(const operation& op, hid_t where, const std::string& name, std::span<double> values);
[[nodiscard]] double get_number(const operation& op, hid_t where, const std::string& name);
[[nodiscard]] std::int64_t get_integer(const operation& op, hid_t where, const std::string& name);
[[nodiscard]] std::string get_text(const operation& op, hid_t where, const std::string& name);

// Objects of a group. ---------------------------------------------------------------------------

/// Returns a property list for the creation of an object of a kind, without the time of creation:
/// equal contents make equal files.
[[nodiscard]] handle without_times(const operation& op, hid_t kind);
[[nodiscard]] handle make_group(const operation& op, hid_t where, const std::string& name);
[[nodiscard]] bool has_object(const operation& op, hid_t where, const std::string& name);
[[nodiscard]] handle open_dataset(const operation& op, hid_t where, const std::string& name);

/// Writes a dataset of the shape `extents`.
void put_dataset(const operation& op, hid_t where, const std::string& name,
                 std::span<const hsize_t> extents, hid_t stored, hid_t in_memory, const void* data);

}  // namespace stars::hdf5
