// SPDX-License-Identifier: Apache-2.0
#include "replaced_new.hpp"

#include <cstdlib>
#include <new>

// Replaces the operators of the program and of its shared libraries. All unaligned forms are
// defined, so that none pairs with a form of another library.

[[gnu::visibility("default")]] void* operator new(std::size_t bytes,
                                                  const std::nothrow_t&) noexcept {
  return starling::memory_for_new(bytes == 0 ? 1 : bytes);
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
