// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace starling::detail {

/// Growing ring buffer; constructs a value only when it is pushed. A std::deque would allocate when
/// constructed and, from time to time, when values pass through it.
template <class T>
class value_ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return m_size == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return m_size; }
  void push(T&& value) {
    if (m_size == m_slots.size()) grow();
    slot(m_size).emplace(std::move(value));
    ++m_size;
  }
  [[nodiscard]] T pop() {
    std::optional<T>& first = slot(0);
    T value = std::move(*first);
    first.reset();
    m_first = (m_first + 1) & (m_slots.size() - 1);
    --m_size;
    return value;
  }

 private:
  std::optional<T>& slot(std::size_t i) noexcept {
    return m_slots[(m_first + i) & (m_slots.size() - 1)];
  }
  void grow() {
    std::vector<std::optional<T>> larger(m_slots.empty() ? 8 : 2 * m_slots.size());
    for (std::size_t i = 0; i < m_size; ++i) larger[i].emplace(std::move(*slot(i)));
    m_slots.swap(larger);
    m_first = 0;
  }

  std::vector<std::optional<T>> m_slots;  // the size is a power of two, or 0
  std::size_t m_first = 0;
  std::size_t m_size = 0;
};

}  // namespace starling::detail
