// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

namespace stars {

/// The time in which at least one piece of a part's work is in progress, on the host or on a
/// device. Waits for other parts are outside of all pieces. Thread-safe.
class busy_clock {
 public:
  using moment = std::chrono::steady_clock::time_point;

  void begin(moment now) {
    const std::lock_guard lock(m_lock);
    if (m_pieces++ == 0) m_begin = now;
  }
  void end(moment now) {
    const std::lock_guard lock(m_lock);
    // Another thread may have read the clock earlier and got the lock later.
    if (--m_pieces == 0 && now > m_begin) m_busy += now - m_begin;
  }

  /// Returns the seconds so far, without those of pieces that are in progress.
  [[nodiscard]] double seconds() const {
    const std::lock_guard lock(m_lock);
    return std::chrono::duration<double>(m_busy).count();
  }

  /// A piece of work, as long as it exists.
  class piece {
   public:
    /// `clock` null: nothing is measured.
    explicit piece(busy_clock* clock) : m_clock(clock) {
      if (m_clock != nullptr) m_clock->begin(std::chrono::steady_clock::now());
    }
    ~piece() {
      if (m_clock != nullptr) m_clock->end(std::chrono::steady_clock::now());
    }
    piece(const piece&) = delete;
    piece& operator=(const piece&) = delete;

   private:
    busy_clock* m_clock;
  };

 private:
  mutable std::mutex m_lock;
  int m_pieces = 0;
  moment m_begin{};
  std::chrono::steady_clock::duration m_busy{};
};

}  // namespace stars
