// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/node_means.hpp"
#include "mesh/mesh.hpp"

namespace stars {

/// Writes a snapshot as a VTKHDF file of the type OverlappingAMR, which VTK and ParaView read
/// (https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html). Needs HDF5.
///
/// The boxes of a level are the octree nodes of this level, with the cells and the fields of a
/// plotfile (io/plotfile.hpp). The group `stars` has problem, boundary, gamma, step, time and the
/// outflow of every conserved field. The bytes of the file depend on the snapshot only.
///
/// The file appears completely or not at all; an existing file survives a failed write. Not thread
/// safe. Throws `output_error`, std::invalid_argument if the data do not fit the mesh, or
/// std::runtime_error with the build option if HDF5 is absent. Needs memory of 1/7 of the state.
void write_vtkhdf(const std::filesystem::path& file, const snapshot& state);

/// The places of the data in an unfinished VTKHDF file.
struct vtkhdf_place {
  std::string file;
  std::vector<std::uint64_t> offsets;  ///< [level][plot field]: of the first box, in bytes

  template <class Archive>
  void serialize(Archive& ar) {
    ar(file, offsets);
  }
};

/// A VTKHDF file that several parts of the domain write; see `plotfile_writer` (io/plotfile.hpp),
/// which is used in the same way. A box has a page (4096 bytes) for each field.
class vtkhdf_writer {
 public:
  /// Makes a temporary file beside `file`. The data of `header` are not used. Throws as
  /// `write_vtkhdf`.
  vtkhdf_writer(const std::filesystem::path& file, const snapshot& header);
  ~vtkhdf_writer();
  vtkhdf_writer(const vtkhdf_writer&) = delete;
  vtkhdf_writer& operator=(const vtkhdf_writer&) = delete;

  [[nodiscard]] const vtkhdf_place& place() const;

  /// Completes the file, after all parts have written, and moves it to its place. Without this call
  /// the destructor removes the temporary file.
  void commit();

 private:
  struct impl;
  std::unique_ptr<impl> m_impl;
};

/// Writes the nodes of one part into the file of a `vtkhdf_writer`. Throws `output_error`. Does not
/// use HDF5.
void write_vtkhdf_part(const vtkhdf_place& place, const snapshot& header, node_means& nodes);

}  // namespace stars
