// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/net/message.hpp>

namespace starling::detail {

/// Messages that UCX reads or fills. UCX may never complete messages of a failed rank: they are
/// destroyed with this list, after the UCX worker.
class held_blocks {
 public:
  held_blocks() noexcept = default;
  held_blocks(const held_blocks&) = delete;
  held_blocks& operator=(const held_blocks&) = delete;
  ~held_blocks() {
    while (m_first != nullptr) {
      message_block* const b = m_first;
      m_first = b->next;
      message_block::destroy(b);
    }
  }

  void add(message_block* b) noexcept {
    b->next = m_first;
    previous(*b) = nullptr;
    if (m_first != nullptr) previous(*m_first) = b;
    m_first = b;
  }
  void remove(message_block* b) noexcept {
    message_block* const before = previous(*b);
    (before == nullptr ? m_first : before->next) = b->next;
    if (b->next != nullptr) previous(*b->next) = before;
  }

 private:
  /// Returns the back link in the block's room, between the peer pointer and the header.
  static message_block*& previous(message_block& b) noexcept {
    return *reinterpret_cast<message_block**>(b.room + sizeof(void*));
  }
  message_block* m_first = nullptr;
};

}  // namespace starling::detail
