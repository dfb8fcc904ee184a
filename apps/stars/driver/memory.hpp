// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/settings.hpp"

namespace stars {

/// Returns the bytes of host memory that each rank of a run on this level needs at least; ghost
/// cells of other ranks and plots need more. `on_host`: device memory is host memory.
[[nodiscard]] double memory_needed(int level, residency place, bool on_host, int ranks);

/// Returns the bytes that this process can use: the least of the machine's memory, its control
/// group's limit and `ulimit -v`.
[[nodiscard]] double memory_available();

/// Returns the begin of an error text: "--level 5: 256³ cells need 9.4 GiB of memory".
[[nodiscard]] std::string memory_text(int level, double needed);

/// @throws starling::option_error with level, bytes and remedy, if the run cannot fit
void require_memory(int level, double needed, double available);

}  // namespace stars
