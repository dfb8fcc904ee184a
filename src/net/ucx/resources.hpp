// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "process_watch.hpp"

namespace starling::detail {

/// Bytes that this process may still take in /dev/shm; 0: it may write nothing there.
[[nodiscard]] std::uint64_t free_shared_memory() noexcept;

/// Whether what UCX makes in /dev/shm for all ranks of this host fits in there. If not, the first
/// of them says so on one line; what remains are UCX' other ways. UCX_TLS, which is the user's
/// choice, settles it.
[[nodiscard]] bool has_room_for_ucx(const std::vector<process_place>& processes, int rank);

/// @throws bootstrap_error where the limit of open files is too low for this many ranks
void require_open_files(int ranks);

}  // namespace starling::detail
