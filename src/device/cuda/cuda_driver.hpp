// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// The driver's function of that name as it has been since that version; null where it has none.
/// Looked up at run time, so that the program needs no libcuda to start.
[[nodiscard]] void* find_driver_symbol(const char* name, unsigned int since) noexcept;
template <class Function>
[[nodiscard]] Function find_driver_function(const char* name, unsigned int since) noexcept {
  return reinterpret_cast<Function>(find_driver_symbol(name, since));
}

/// Who stores a completion word: the driver's stream operation, or a kernel of one thread.
enum class word_store : std::uint8_t { driver, kernel };

/// Stores `sequence` to `word` when `stream` gets there, after everything before it is visible to
/// the whole system: one driver call, no kernel. Where the driver does not offer that, or on
/// request, a kernel does the same. The stream's device must be current. @throws device_error
void store_word(cudaStream_t stream, completion_word* word, std::uint64_t sequence, word_store how);

/// The kernel alone; for the case above and to compare the two. Returns the launch's error.
[[nodiscard]] cudaError_t launch_store_word(cudaStream_t stream, void* word,
                                            std::uint64_t sequence) noexcept;

/// Bytes 0 … element−1 of `value` over and over; element is 1, 2, 4, 8 or 16, `memory` is reached
/// by the device and aligned as it happens to be. Returns the launch's error.
[[nodiscard]] cudaError_t launch_fill(cudaStream_t stream, void* memory, const void* value,
                                      std::size_t element, std::size_t count) noexcept;

}  // namespace starling::detail
