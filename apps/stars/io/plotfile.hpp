// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "common/files.hpp"
#include "io/node_means.hpp"
#include "mesh/mesh.hpp"

namespace stars {

/// Writes a snapshot as an AMReX plotfile: a directory that yt, ParaView and VisIt open directly
/// (https://amrex-codes.github.io/amrex/docs_html/IO.html).
///
/// The grids of a level are the octree nodes of this level, leaves and interior nodes, of 8^3 cells
/// each. Level 0 is the root, which covers the domain; the cells of an interior node are the means
/// of its children's cells. Fields: the 15 conserved fields as stored (`density` is rho), then the
/// pressure and the three velocities, derived from them on every level. All numbers have 64 bits: a
/// reader gets the snapshot's values bit by bit.
///
/// The directory also contains `stars.json` with problem, boundary, gamma, step, time and the
/// outflow of every conserved field from the domain (field x volume).
///
/// The directory appears completely or not at all. An existing plotfile of this name is replaced;
/// any other existing directory is an error. Throws `output_error` (file, operation, reason) on
/// every failure, std::invalid_argument if the snapshot's data do not fit its mesh. Needs memory of
/// 1/7 of the state.
void write_plotfile(const std::filesystem::path& directory, const snapshot& state);

/// What the headers of the levels list about the grids that one part of the domain has written. The
/// grids are in the order of their levels, those of a level in Z-order.
struct plot_records {
  std::vector<std::uint64_t> counts;   ///< [level]: number of grids
  std::vector<std::uint64_t> offsets;  ///< [grid]: its position in the part's file of its level
  std::vector<double> smallest;        ///< [grid][plot field]
  std::vector<double> largest;         ///< [grid][plot field]

  template <class Archive>
  void serialize(Archive& ar) {
    ar(counts, offsets, smallest, largest);
  }
};

/// A plotfile that several parts of the domain write, each its own grids, so that no process needs
/// the whole state. One process has the `plotfile_writer`; all processes write into its directory,
/// which must be in a file system that they share:
///
///     plotfile_writer file(directory, header);                         // one process
///     node_means nodes(header.grid.tree(), first_leaves, part, data);  // each part
///     for (const octant_transfer& t : nodes.transfers())               // each part
///       t.from == part ? send(t.to, nodes.give(t)) : nodes.take(t, receive(t.from));
///     const plot_records mine = write_plot_part(path, header, nodes);  // each part, to
///     file.path() file.commit(records_of_all_parts);                               // one process
///
/// The result is that of `write_plotfile`, except that the grids of part P are in files
/// `Cell_D_P`. Not thread safe.
class plotfile_writer {
 public:
  /// Makes a temporary directory beside `directory`, with a directory for each level. The data of
  /// `header` are not used. Throws as `write_plotfile`.
  plotfile_writer(const std::filesystem::path& directory, const snapshot& header);

  /// Returns the temporary directory.
  [[nodiscard]] const std::filesystem::path& path() const { return m_staged.path(); }

  /// Writes the headers and moves the directory to its place. `parts` has the records of all parts
  /// in their order. Throws std::invalid_argument if the number of their grids is not that of the
  /// tree's nodes. Without this call the destructor removes the temporary directory.
  void commit(std::span<const plot_records> parts);

 private:
  apps::staged_output m_staged;
  snapshot m_header;
};

/// Writes the grids of one part into the temporary directory of a `plotfile_writer`, one file for
/// each level on which the part has nodes. Throws `output_error`.
[[nodiscard]] plot_records write_plot_part(const std::filesystem::path& directory,
                                           const snapshot& header, node_means& nodes);

}  // namespace stars
