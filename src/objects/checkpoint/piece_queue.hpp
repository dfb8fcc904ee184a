// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include <starling/core/future.hpp>
#include <starling/objects/shared_buffer.hpp>

namespace starling::detail {

using file_piece = shared_buffer<std::byte>;

/// A queue of pieces of a share. The thread that writes the share appends them and waits while the
/// queue is full; a task takes them in the same order and sends them. Thread-safe for one thread
/// and one task.
class piece_queue {
 public:
  /// `most`: pieces that wait for the task.
  explicit piece_queue(std::size_t most) : m_most(most) {}

  /// Appends a piece. After `close` it drops the piece.
  void put(file_piece piece);
  /// No piece follows.
  void end();

  /// Returns the next piece; an empty one: none follows. One call at a time.
  [[nodiscard]] future<file_piece> next();
  /// Drops all pieces, those that wait and those that follow, so that the thread does not wait.
  void close();

 private:
  const std::size_t m_most;
  std::mutex m_mutex;
  std::condition_variable m_has_room;
  std::deque<file_piece> m_pieces;
  std::optional<promise<file_piece>> m_awaited;  // by the task
  bool m_has_ended = false;
  bool m_is_closed = false;
};

/// Calls a function of a queue, if any, at the end of a scope.
template <void (piece_queue::*F)()>
class at_scope_end {
 public:
  explicit at_scope_end(piece_queue* queue) : m_queue(queue) {}
  at_scope_end(const at_scope_end&) = delete;
  at_scope_end& operator=(const at_scope_end&) = delete;
  ~at_scope_end() {
    if (m_queue != nullptr) (m_queue->*F)();
  }

 private:
  piece_queue* const m_queue;
};

}  // namespace starling::detail
