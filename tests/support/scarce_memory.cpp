// SPDX-License-Identifier: Apache-2.0
#include "scarce_memory.hpp"

#include <cstddef>
#include <cstdlib>

#include "replaced_new.hpp"

namespace {
constexpr int unlimited = -1;
constinit thread_local int allocations_left = unlimited;

/// Counts an allocation of this thread; returns whether it must fail.
bool is_refused() noexcept {
  if (allocations_left > 0) --allocations_left;
  return allocations_left == 0;
}
}  // namespace

namespace starling {
void refuse_memory(bool refused) noexcept { allocations_left = refused ? 0 : unlimited; }
void refuse_memory_after(int allocations) noexcept { allocations_left = allocations + 1; }

void* memory_for_new(std::size_t bytes) noexcept {
  return is_refused() ? nullptr : std::malloc(bytes);
}
}  // namespace starling

/// The function from which the frame pool gets its slabs.
extern "C" [[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment,
                                                              std::size_t bytes) noexcept {
  void* memory = nullptr;
  if (is_refused() || posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return memory;
}
