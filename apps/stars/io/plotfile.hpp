// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mesh/mesh.hpp"

namespace stars {

/// Writes a snapshot as an AMReX plotfile: a directory that yt, ParaView and VisIt open directly
/// (https://amrex-codes.github.io/amrex/docs_html/IO.html).
///
/// All octree levels are written. Level 0 is one grid of 8^3 cells that covers the domain; the
/// values of a node are the means of its 8 children's cells. Fields: the 15 conserved fields as
/// stored (`density` is rho), then the pressure and the three velocities, derived from them on
/// every level. All numbers have 64 bits: a reader gets the snapshot's values bit by bit.
///
/// The directory also contains `stars.json` with problem, boundary, gamma, step, time and the
/// outflow of every conserved field from the domain (field x volume).
///
/// The directory appears completely or not at all. An existing plotfile of this name is replaced;
/// any other existing directory is an error. Throws `output_error` (file, operation, reason) on
/// every failure, std::invalid_argument if the snapshot's data do not fit its mesh. Needs memory of
/// 1/7 of the state.
void write_plotfile(const std::filesystem::path& directory, const snapshot& state);

/// Returns the names of the fields in a plotfile, in their order.
[[nodiscard]] std::vector<std::string> plotfile_fields();

}  // namespace stars
