// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

namespace overlap {

/// Threads that work in step. One that fails lets the others go on to their next meeting and end
/// there; `run` then throws its error.
class team {
 public:
  explicit team(int size) : m_size(size), m_barrier(size) {}

  /// Calls work(number) on each of the threads.
  template <class Work>
  void run(Work work) {
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(m_size));
    std::vector<std::thread> threads;
    for (int i = 0; i < m_size; ++i)
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (const left&) {  // because of somebody else's error
        } catch (...) {
          errors[static_cast<std::size_t>(i)] = std::current_exception();
          // Release order of the barrier below shows it to the others.
          m_failed.store(true, std::memory_order_relaxed);
        }
        m_barrier.arrive_and_drop();
      });
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : errors)
      if (e) std::rethrow_exception(e);
  }

  /// All threads meet. What each has done before is seen by all after.
  void meet() {
    m_barrier.arrive_and_wait();
    if (m_failed.load(std::memory_order_relaxed)) throw left{};
  }

 private:
  struct left {};
  int m_size;
  std::barrier<> m_barrier;
  std::atomic<bool> m_failed = false;  // true: some thread has an error and comes no more
};

}  // namespace overlap
