// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <starling/net/message.hpp>

namespace starling::detail {

/// Owning list of messages, linked through their blocks. Allocates no memory.
class message_list {
 public:
  message_list() noexcept = default;
  message_list(message_list&& other) noexcept
      : m_first(std::exchange(other.m_first, nullptr)),
        m_last(std::exchange(other.m_last, nullptr)) {}
  message_list& operator=(message_list&& other) noexcept {
    std::swap(m_first, other.m_first);
    std::swap(m_last, other.m_last);
    return *this;
  }
  ~message_list() {
    while (message_block* b = pop()) message_block::destroy(b);
  }

  [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
  [[nodiscard]] const message_block& front() const noexcept { return *m_first; }
  void push(message_block* b) noexcept {
    b->next = nullptr;
    (m_first == nullptr ? m_first : m_last->next) = b;
    m_last = b;
  }
  /// Returns null if the list is empty.
  [[nodiscard]] message_block* pop() noexcept {
    message_block* b = m_first;
    if (b != nullptr) m_first = b->next;
    return b;
  }
  /// Inserts `b` before the first message that follows it in the given order.
  template <class Before>
  void insert(message_block* b, Before comes_before) noexcept {
    message_block** at = &m_first;
    while (*at != nullptr && !comes_before(*b, **at)) at = &(*at)->next;
    if (*at == nullptr) m_last = b;
    b->next = *at;
    *at = b;
  }
  /// Destroys the messages without returning credit for them.
  void forget() noexcept {
    for (message_block* b = m_first; b != nullptr; b = b->next) b->keeper = nullptr;
    *this = message_list();
  }

 private:
  message_block* m_first = nullptr;
  message_block* m_last = nullptr;  // undefined if the list is empty
};

}  // namespace starling::detail
