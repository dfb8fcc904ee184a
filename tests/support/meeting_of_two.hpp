// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace starling_test {

/// Shows that at least two threads run something at the same time. Thread-safe.
class meeting_of_two {
 public:
  /// Waits until a second thread is inside, for at most 20 s.
  void come() {
    using clock = std::chrono::steady_clock;
    m_came.fetch_add(1);
    const clock::time_point limit = clock::now() + std::chrono::seconds(20);
    while (m_came.load() < 2) {
      if (clock::now() > limit) {
        m_alone.fetch_add(1);
        return;
      }
      std::this_thread::yield();
    }
  }
  [[nodiscard]] int came() const { return m_came.load(); }
  /// Returns the number of calls of `come` that ended without a second thread.
  [[nodiscard]] int alone() const { return m_alone.load(); }

 private:
  std::atomic<int> m_came{0};
  std::atomic<int> m_alone{0};
};

}  // namespace starling_test
