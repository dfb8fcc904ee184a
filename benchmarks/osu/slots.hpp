// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace osu {

/// Memory for messages, side by side, each at the beginning of a cache line.
class slots {
 public:
  void prepare(int count, std::size_t bytes) {
    m_bytes = (bytes + 63) / 64 * 64;
    m_memory.assign(std::size_t(count) * m_bytes + 63, std::byte{});
    void* begin = m_memory.data();
    std::size_t room = m_memory.size();
    m_begin = static_cast<std::byte*>(std::align(64, 1, begin, room));
    m_count = count;
  }
  [[nodiscard]] std::span<std::byte> operator[](int slot) noexcept {
    return {m_begin + std::size_t(slot) * m_bytes, m_bytes};
  }
  [[nodiscard]] int count() const noexcept { return m_count; }

 private:
  std::vector<std::byte> m_memory;
  std::byte* m_begin = nullptr;
  std::size_t m_bytes = 0;
  int m_count = 0;
};

}  // namespace osu
