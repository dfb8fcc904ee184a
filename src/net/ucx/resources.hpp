// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "process_watch.hpp"

namespace starling::detail {

/// Returns the bytes free in the folder of UCX, /dev/shm or UCX_POSIX_DIR; 0 if this process may
/// not write there.
[[nodiscard]] std::uint64_t free_shared_memory();

/// Returns whether UCX's files of all ranks of this host fit in its folder; true if the user has
/// set UCX_TLS. If they do not fit, UCX must use its other transports, and the first of several
/// ranks prints one line.
[[nodiscard]] bool has_room_for_ucx(const std::vector<process_location>& processes, int rank);

/// Checks the limit of open files.
/// @throws bootstrap_error if it is too low for this many ranks
void require_open_files(int ranks);

}  // namespace starling::detail
