// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/huge_pages.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace starling::detail {
namespace {

/// New memory that begins in the middle of a huge page.
class mapping {
 public:
  explicit mapping(std::size_t bytes) : m_bytes(bytes + huge) {
    void* const at =
        ::mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m_begin = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() {
    if (m_begin != nullptr) ::munmap(m_begin, m_bytes);
  }
  [[nodiscard]] char* data() const {
    const auto at = reinterpret_cast<std::uintptr_t>(m_begin);
    return m_begin + ((at / huge + 1) * huge - at) / 2;
  }

 private:
  static constexpr std::size_t huge = std::size_t(2) << 20;
  std::size_t m_bytes;
  char* m_begin;
};

/// Returns whether the memory at `address` is marked for huge pages.
bool is_marked(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    const auto at = reinterpret_cast<unsigned long long>(address);
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
      is_here = begin <= at && at < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != line.npos;
  }
  return false;
}

TEST(huge_pages, are_asked_for_large_memory_only) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this system has no transparent huge pages";
  const mapping large(always_new_memory), small(always_new_memory);
  ASSERT_NE(large.data(), nullptr);
  prefer_huge_pages(large.data(), always_new_memory);
  prefer_huge_pages(small.data(), always_new_memory - 1);
  EXPECT_TRUE(is_marked(large.data() + always_new_memory / 2));
  EXPECT_FALSE(is_marked(small.data() + always_new_memory / 2));
}

TEST(huge_pages, leave_the_contents_and_the_neighbours_alone) {
  constexpr std::size_t bytes = always_new_memory + 100;
  const mapping memory(bytes);
  ASSERT_NE(memory.data(), nullptr);
  std::memset(memory.data(), 7, bytes);
  prefer_huge_pages(memory.data() + 1, bytes - 2);
  EXPECT_EQ(std::count(memory.data(), memory.data() + bytes, 7), std::ptrdiff_t(bytes));
}

}  // namespace
}  // namespace starling::detail
