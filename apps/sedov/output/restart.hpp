// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include "physics/mesh.hpp"

namespace sedov {

/// A value of a named parameter of the numerical scheme.
using parameter = std::variant<std::int64_t, double, std::string>;

/// Everything that a run needs to go on as if it had not stopped.
struct restart {
  snapshot state;
  std::map<std::string, parameter> scheme;  ///< for the reader to compare with its own
};

/// True if this program was built with HDF5.
[[nodiscard]] bool restart_available() noexcept;

/// Writes a restart file (HDF5). Every number comes back with the same bits. The file appears
/// complete or not at all, and an older one survives a write that fails. Needs memory for one more
/// copy of the state. Not thread safe (HDF5 is not). Throws `output_error`, or std::runtime_error
/// naming the build option if HDF5 is absent, or std::invalid_argument if the state's data do not
/// fit its mesh.
void write_restart(const std::filesystem::path& file, const restart& content);

/// Reads it back. A file that is absent, truncated, damaged (checksums), of another program or of
/// another version throws `output_error` that says so.
[[nodiscard]] restart read_restart(const std::filesystem::path& file);

}  // namespace sedov
