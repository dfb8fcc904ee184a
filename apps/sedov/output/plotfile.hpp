// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "physics/mesh.hpp"

namespace sedov {

/// Writes a snapshot as an AMReX plotfile: a directory that yt, ParaView and VisIt open directly
/// (https://amrex-codes.github.io/amrex/docs_html/IO.html).
///
/// All octree levels are written, level 0 being one grid of 8^3 cells that covers the domain; a
/// node's values are the means of its 8 children's cells. Fields: the 15 conserved ones as stored
/// (`density` is rho), then `pressure` and the three velocities derived from them on every level.
/// 64-bit numbers throughout: what is read back is bitwise what the snapshot holds.
///
/// Beside the data lies `sedov.json` with problem, boundary, gamma, step, time and the amount of
/// every conserved field that has left the domain (field x volume).
///
/// The directory appears complete or not at all; an older plotfile of the name is replaced, any
/// other directory is left alone. Throws `output_error` (file, operation, reason) on every failure,
/// std::invalid_argument if the snapshot's data do not fit its mesh. Costs one copy of the state
/// divided by 7 in memory.
void write_plotfile(const std::filesystem::path& directory, const snapshot& state);

/// Names of the fields in a plotfile, in their order.
[[nodiscard]] std::vector<std::string> plotfile_fields();

}  // namespace sedov
