// SPDX-License-Identifier: Apache-2.0
/// \file
/// The programs for sub-grids of 8³ and of 16³ cells.
#pragma once

namespace stars {

/// Replaces this program by the one whose sub-grids have `wanted`³ cells (8 or 16), with the same
/// arguments; returns if that is this program. The other one is expected in the same folder. To be
/// called before the process starts threads. Throws `starling::option_error` if it cannot be run.
void run_program_of(int wanted, char** argv);

}  // namespace stars
