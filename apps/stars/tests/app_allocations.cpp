// SPDX-License-Identifier: Apache-2.0
#include "tests/app_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

/// The size of the largest allocation. Relaxed: a maximum, which publishes no data.
constinit std::atomic<std::size_t> largest_allocation{0};

void record(std::size_t bytes) noexcept {
  std::size_t before = largest_allocation.load(std::memory_order_relaxed);
  while (before < bytes &&
         !largest_allocation.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

}  // namespace

namespace stars::test {

allocation_record::allocation_record() noexcept {
  largest_allocation.store(0, std::memory_order_relaxed);
}
std::size_t allocation_record::largest() const noexcept {
  return largest_allocation.load(std::memory_order_relaxed);
}

}  // namespace stars::test

// Replaces the operators of the program and of its shared libraries. All unaligned forms are
// defined, so that none pairs with a form of another library.

[[gnu::visibility("default")]] void* operator new(std::size_t bytes,
                                                  const std::nothrow_t&) noexcept {
  record(bytes);
  return std::malloc(bytes == 0 ? 1 : bytes);
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
