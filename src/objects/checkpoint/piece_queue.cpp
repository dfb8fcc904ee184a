// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/piece_queue.hpp"

#include <utility>

namespace starling::detail {

void piece_queue::put(file_piece piece) {
  std::unique_lock lock(m_mutex);
  m_has_room.wait(lock, [this] { return m_pieces.size() < m_most || m_is_closed; });
  if (m_is_closed) return;
  if (!m_awaited) {
    m_pieces.push_back(std::move(piece));
    return;
  }
  promise<file_piece> awaited = *std::exchange(m_awaited, std::nullopt);
  lock.unlock();
  awaited.set_value(std::move(piece));
}

void piece_queue::end() {
  std::unique_lock lock(m_mutex);
  m_has_ended = true;
  auto awaited = std::exchange(m_awaited, std::nullopt);
  lock.unlock();
  if (awaited) awaited->set_value();
}

future<file_piece> piece_queue::next() {
  promise<file_piece> to;
  future<file_piece> answer = to.get_future();
  const std::lock_guard lock(m_mutex);
  if (!m_pieces.empty()) {
    to.set_value(std::move(m_pieces.front()));
    m_pieces.pop_front();
    m_has_room.notify_one();
  } else if (m_has_ended || m_is_closed) {
    to.set_value();
  } else {
    m_awaited = std::move(to);
  }
  return answer;
}

void piece_queue::close() {
  std::deque<file_piece> dropped;
  const std::lock_guard lock(m_mutex);
  m_is_closed = true;
  dropped.swap(m_pieces);
  m_has_room.notify_one();
}

}  // namespace starling::detail
