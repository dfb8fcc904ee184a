// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include "mesh/mesh.hpp"

namespace stars {

/// The value of a named parameter of the numerical scheme.
using parameter = std::variant<std::int64_t, double, std::string>;

/// All data that a run needs to continue as if it had not stopped.
struct restart {
  snapshot state;
  std::map<std::string, parameter> scheme;  ///< compared by the reader with its own scheme
};

/// Returns whether this program was built with HDF5.
[[nodiscard]] bool restart_available() noexcept;

/// Writes a restart file (HDF5). A reader gets every number bit by bit. The file appears completely
/// or not at all, and an existing file survives a failed write. Needs memory for one more copy of
/// the state. Not thread safe, as HDF5 is not. Throws `output_error`, or std::runtime_error with
/// the build option if HDF5 is absent, or std::invalid_argument if the state's data do not fit its
/// mesh.
void write_restart(const std::filesystem::path& file, const restart& content);

/// Reads a restart file. Throws `output_error` with the reason if the file is absent, truncated,
/// damaged (checksums), or of another program or version.
[[nodiscard]] restart read_restart(const std::filesystem::path& file);

}  // namespace stars
