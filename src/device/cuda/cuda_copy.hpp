// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// Queues copies on `stream`, whose device must be current. Merges adjacent transfers and queues
/// the result in one driver call if `may_batch` and the driver supports it, else one by one.
/// Batches are not possible in a capture nor on the legacy default stream. @throws device_error
void queue_copies(cudaStream_t stream, std::span<const transfer> transfers, bool may_batch);

inline constexpr std::size_t most_of_copy_batch = 128;  // transfers

/// Queues up to `most_of_copy_batch` transfers in one driver call. Returns cudaErrorNotSupported if
/// the toolkit of the build has no such call, and the driver's error if the driver has none.
[[nodiscard]] cudaError_t start_copy_batch(cudaStream_t stream,
                                           std::span<const transfer> list) noexcept;

}  // namespace starling::detail
