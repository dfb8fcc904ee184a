// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <starling/net/transport.hpp>

namespace starling::detail {

/// List of transfers, linked through `transfer::state`. Does not own them.
class transfer_list {
 public:
  transfer_list() noexcept = default;
  transfer_list(transfer_list&& other) noexcept { swap(other); }
  transfer_list& operator=(transfer_list&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
  [[nodiscard]] transfer* first() const noexcept { return m_first; }
  void push(transfer& t) noexcept {
    t.state.next = nullptr;
    t.state.previous = m_last;
    (m_last == nullptr ? m_first : m_last->state.next) = &t;
    m_last = &t;
  }
  void remove(transfer& t) noexcept {
    (t.state.previous == nullptr ? m_first : t.state.previous->state.next) = t.state.next;
    (t.state.next == nullptr ? m_last : t.state.next->state.previous) = t.state.previous;
  }
  /// Returns null if the list is empty.
  [[nodiscard]] transfer* pop() noexcept {
    transfer* t = m_first;
    if (t != nullptr) remove(*t);
    return t;
  }

 private:
  void swap(transfer_list& other) noexcept {
    std::swap(m_first, other.m_first);
    std::swap(m_last, other.m_last);
  }
  transfer* m_first = nullptr;
  transfer* m_last = nullptr;
};

}  // namespace starling::detail
