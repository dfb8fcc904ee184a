// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Whether the run of the calling worker's runtime has ended by an error or by `exit_run`, and no
/// thread has begun another one since. On a worker.
[[nodiscard]] bool run_has_ended() noexcept;

}  // namespace starling::detail
