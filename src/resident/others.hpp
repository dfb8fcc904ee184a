// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/task.hpp>
#include <starling/resident/detail/session.hpp>

#include "part.hpp"

namespace starling::resident::detail {

/// Initialises NVSHMEM in the processes of a program's ranks, unless it is initialised. Must
/// complete before a program with `reach::nvshmem` allocates memory on devices.
/// @throws usage_error, backend_unavailable, out_of_memory
[[nodiscard]] task<void> meet_others(const options& o);

/// Creates the parts of a program on its further ranks, then starts all parts. `first`: the request
/// for the part of this rank. If it throws, the further ranks have released their parts.
/// @throws usage_error if the job has too few ranks; any error of the further ranks
[[nodiscard]] task<void> start_with_others(const program_description& program,
                                           const part_request& first, program_part& own);

/// Blocks until no part of another rank uses the memory of `first`, whose program ends. False: a
/// rank has sent no heartbeat for two seconds.
[[nodiscard]] bool wait_for_others(program_part& first) noexcept;

}  // namespace starling::resident::detail
