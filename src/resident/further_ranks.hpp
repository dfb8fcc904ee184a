// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/task.hpp>
#include <starling/resident/detail/session.hpp>

#include "local_program.hpp"

namespace starling::resident::detail {

/// Initialises NVSHMEM in the processes of a program's ranks, unless it is initialised. Must
/// complete before a program with `reach::nvshmem` allocates memory on devices.
/// @throws usage_error, backend_unavailable, out_of_memory
[[nodiscard]] task<void> initialise_nvshmem(const options& o);

/// Creates the local programs of a program's further ranks, then starts all. `first`: the request
/// for that of this rank, `own`. If it throws, the further ranks have released theirs.
/// @throws usage_error if the job has too few ranks; any error of the further ranks
[[nodiscard]] task<void> start_on_ranks(const program_description& program,
                                        const join_request& first, local_program& own);

/// Blocks until no other rank uses the memory of `first`, whose program ends. False: a rank has
/// sent no heartbeat for two seconds.
[[nodiscard]] bool wait_for_ranks(local_program& first) noexcept;

}  // namespace starling::resident::detail
