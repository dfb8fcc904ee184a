// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace starling_test {

inline constexpr std::size_t huge_page = std::size_t(2) << 20;

/// Returns whether the memory at `address` is marked for huge pages.
inline bool has_huge_pages(const void* address) {
  const auto at = reinterpret_cast<unsigned long long>(address);
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
      is_here = begin <= at && at < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != line.npos;
  }
  return false;
}

/// New memory that begins in the middle of a huge page.
class mapping {
 public:
  explicit mapping(std::size_t bytes) : m_bytes(bytes + huge_page) {
    void* const at =
        ::mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m_begin = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() {
    if (m_begin != nullptr) ::munmap(m_begin, m_bytes);
  }
  /// Returns null if the system gave no memory.
  [[nodiscard]] char* data() const {
    if (m_begin == nullptr) return nullptr;
    const auto at = reinterpret_cast<std::uintptr_t>(m_begin);
    return m_begin + ((at / huge_page + 1) * huge_page - at) / 2;
  }

 private:
  std::size_t m_bytes;
  char* m_begin;
};

/// Returns whether this system marks memory for huge pages where a test sees it: a kernel without
/// them does not, and neither does an emulator that makes up /proc/self/smaps.
inline bool shows_huge_pages() {
  const mapping probe(2 * huge_page);
  if (probe.data() == nullptr) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(probe.data());
  void* const page = reinterpret_cast<void*>((at / huge_page + 1) * huge_page);
  return ::madvise(page, huge_page, MADV_HUGEPAGE) == 0 && has_huge_pages(page);
}
inline constexpr const char* no_huge_pages = "no memory with huge pages is seen here";

}  // namespace starling_test
