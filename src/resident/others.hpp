// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/task.hpp>
#include <starling/resident/detail/session.hpp>

#include "part.hpp"

namespace starling::resident::detail {

/// Before a program with `reach::nvshmem` gets memory on devices: has the processes of its ranks
/// meet, unless they have. @throws usage_error, backend_unavailable, out_of_memory
[[nodiscard]] task<void> meet_others(const options& o);

/// Has the other ranks of a program take part, as the first one asks; then all start. When it
/// throws none of them takes part any more. @throws usage_error where there are not so many; what
/// they throw
[[nodiscard]] task<void> start_with_others(const program_description& program,
                                           const part_request& first, program_part& own);

/// Blocks until no part of other ranks uses the memory of `first`, whose program ends. False: one
/// of them has not moved for seconds.
[[nodiscard]] bool wait_for_others(program_part& first) noexcept;

}  // namespace starling::resident::detail
