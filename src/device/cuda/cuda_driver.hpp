// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// Returns the driver's function `name` in the form of CUDA version `since`; null if it has none.
/// Found at run time, so that the program starts without libcuda.
[[nodiscard]] void* find_driver_symbol(const char* name, unsigned int since) noexcept;
template <class Function>
[[nodiscard]] Function find_driver_function(const char* name, unsigned int since) noexcept {
  return reinterpret_cast<Function>(find_driver_symbol(name, since));
}

/// How a completion word is stored: by the driver's stream operation, or by a kernel with one
/// thread.
enum class word_store : std::uint8_t { driver, kernel };

/// Queues a store of `sequence` to `word` on `stream`, after all earlier writes of the stream are
/// visible to the whole system: one driver call, no kernel. If the driver has no such call, or
/// `how` requests it, a kernel stores the word. The stream's device must be current. @throws
/// device_error
void store_word(cudaStream_t stream, completion_word* word, std::uint64_t sequence, word_store how);

/// Launches the kernel that stores a word. Returns the launch's error.
[[nodiscard]] cudaError_t launch_store_word(cudaStream_t stream, void* word,
                                            std::uint64_t sequence) noexcept;

/// Launches a kernel that fills `memory` with `count` copies of `value`, `element` (1, 2, 4, 8 or
/// 16) bytes each. The device must reach `memory`, whose alignment is arbitrary. Returns the
/// launch's error.
[[nodiscard]] cudaError_t launch_fill(cudaStream_t stream, void* memory, const void* value,
                                      std::size_t element, std::size_t count) noexcept;

}  // namespace starling::detail
