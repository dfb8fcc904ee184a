// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// Clang without compiler-rt lacks this header; it cannot build with the address sanitizer either.
#if __has_include(<sanitizer/asan_interface.h>)
#  include <sanitizer/asan_interface.h>
#endif

namespace starling::detail {

/// Forbids accesses to memory for the address sanitizer; no operation in other builds.
inline void poison([[maybe_unused]] const void* block,
                   [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_POISON_MEMORY_REGION(block, bytes);
#endif
}

/// Allows accesses again that `poison` has forbidden.
inline void unpoison([[maybe_unused]] const void* block,
                     [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef ASAN_UNPOISON_MEMORY_REGION
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
#endif
}

}  // namespace starling::detail
