// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Returns whether the run of the calling worker's runtime was ended by an error or by `exit_run`,
/// and no thread has begun another run since. Workers only.
[[nodiscard]] bool run_has_ended() noexcept;

}  // namespace starling::detail
