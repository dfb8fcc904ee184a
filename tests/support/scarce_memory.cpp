// SPDX-License-Identifier: Apache-2.0
#include "scarce_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

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
}  // namespace starling

// Replaces the operators of the program and of its shared libraries. All unaligned forms are
// defined, so that none pairs with a form of another library.

[[gnu::visibility("default")]] void* operator new(std::size_t bytes,
                                                  const std::nothrow_t&) noexcept {
  return is_refused() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::visibility("default")]] void* operator new(std::size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::visibility("default")]] void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
[[gnu::visibility("default")]] void* operator new[](std::size_t bytes,
                                                    const std::nothrow_t& t) noexcept {
  return operator new(bytes, t);
}
[[gnu::visibility("default")]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::visibility("default")]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::visibility("default")]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::visibility("default")]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::visibility("default")]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::visibility("default")]] void operator delete[](void* memory,
                                                      const std::nothrow_t&) noexcept {
  std::free(memory);
}

/// The function from which the frame pool gets its slabs.
extern "C" [[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment,
                                                              std::size_t bytes) noexcept {
  void* memory = nullptr;
  if (is_refused() || posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return memory;
}
