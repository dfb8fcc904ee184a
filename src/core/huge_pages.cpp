// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/huge_pages.hpp>

#include <sys/mman.h>

#include <cstdint>

namespace starling::detail {

void prefer_huge_pages(void* memory, std::size_t bytes) noexcept {
  if (bytes < always_new_memory) return;
  constexpr std::uintptr_t huge_page = std::uintptr_t(2) << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t end = (begin + bytes) / huge_page * huge_page;
  static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
}

}  // namespace starling::detail
