// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// Queues copies on `stream`, whose device must be current: neighbours in memory as one, what is
/// left in one call of the driver where `may_batch` and the driver knows how, else one by one. No
/// batches in a capture, nor on the legacy default stream. @throws device_error
void queue_copies(cudaStream_t stream, std::span<const transfer> transfers, bool may_batch);

inline constexpr std::size_t most_of_copy_batch = 128;  // transfers

/// At most so many in one call of the driver. cudaErrorNotSupported where the toolkit of the build
/// or the driver has none.
[[nodiscard]] cudaError_t start_copy_batch(cudaStream_t stream,
                                           std::span<const transfer> list) noexcept;

}  // namespace starling::detail
