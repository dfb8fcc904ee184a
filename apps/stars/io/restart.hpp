// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

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
/// or not at all, and an existing file survives a failed write. Thread safe for different files.
/// Throws `output_error`, or std::runtime_error with the build option if HDF5 is absent, or
/// std::invalid_argument if the state's data do not fit its mesh or the mesh is not balanced across
/// the state's boundary.
void write_restart(const std::filesystem::path& file, const restart& content);

/// Reads a restart file of this version, or of version 2, which had a uniform mesh. The tree of the
/// mesh has the boundary of the state. Throws `output_error` with the reason if the file is absent,
/// truncated, damaged (checksums; leaves that are not an octree), or of another program or version.
/// Thread safe, as the functions below that read.
[[nodiscard]] restart read_restart(const std::filesystem::path& file);

/// Reads a restart file without the data of the state. Throws as `read_restart`.
[[nodiscard]] restart read_restart_header(const std::filesystem::path& file);

/// Reads the data [leaf][15][8][8][8] of the leaves `first` … `first + count - 1` only, so that
/// each part of the domain reads its own; the parts may be others than those that wrote the file.
/// Throws as `read_restart`, and std::invalid_argument if the file has no such leaves.
[[nodiscard]] std::vector<double> read_restart_part(const std::filesystem::path& file, int first,
                                                    int count);

/// The place of the data in an unfinished restart file.
struct restart_place {
  std::string file;
  std::uint64_t offset = 0;  ///< of the data of leaf 0, in bytes

  template <class Archive>
  void serialize(Archive& ar) {
    ar(file, offset);
  }
};

/// A restart file that several parts of the domain write, so that no process needs the whole state.
/// A part is a run of consecutive leaves. One process has the `restart_writer`; all processes write
/// into its file, which must be in a file system that they share:
///
///     restart_writer file(path, header);                                    // one process
///     const auto mine = write_restart_part(place, first_leaf, data);        // each part
///     file.commit(checksums_of_all_parts);                                  // one process
///
/// where `place` is `file.place()`. The bytes of the file do not depend on the parts. No two leaves
/// share a page of the file (4096 bytes), so that parts on several hosts do not write to the same
/// one. A writer is used by one thread at a time.
class restart_writer {
 public:
  /// Makes a temporary file beside `file`. The data of `header` are not used. Throws as
  /// `write_restart`.
  restart_writer(const std::filesystem::path& file, const restart& header);
  ~restart_writer();
  restart_writer(const restart_writer&) = delete;
  restart_writer& operator=(const restart_writer&) = delete;

  [[nodiscard]] const restart_place& place() const;

  /// Completes the file and moves it to its place. `checksums` are those of all leaves in their
  /// order: the results of all parts, one after the other. Throws `output_error`;
  /// std::invalid_argument if their number is not that of the leaves. Without this call the
  /// destructor removes the temporary file.
  void commit(std::span<const std::uint32_t> checksums);

 private:
  struct impl;
  std::unique_ptr<impl> m_impl;
};

/// Writes the data [leaf][15][8][8][8] of the leaves from `first` on into the file of a
/// `restart_writer`. Returns the checksums of the leaves. Throws `output_error`, or
/// std::invalid_argument unless the data are those of whole leaves. Does not use HDF5.
[[nodiscard]] std::vector<std::uint32_t> write_restart_part(const restart_place& place, int first,
                                                            std::span<const double> data);

}  // namespace stars
