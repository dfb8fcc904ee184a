// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

namespace sedov {

/// Bytes of the host's memory that the first rank of a run on this level needs at least; more while
/// files are written. `on_host`: the devices' memory is the host's.
[[nodiscard]] double memory_needed(int level, residency place, bool on_host, int ranks);

/// Bytes that this process can have: of the machine, its control group or `ulimit -v`, the least.
[[nodiscard]] double memory_available();

/// "--level 5: 256³ cells need 9.4 GiB of memory": how a complaint begins.
[[nodiscard]] std::string memory_text(int level, double needed);

/// @throws starling::option_error naming level, bytes and remedy, if the run cannot fit
void require_memory(int level, double needed, double available);

}  // namespace sedov
