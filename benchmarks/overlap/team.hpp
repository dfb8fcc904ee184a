// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

namespace overlap {

/// Threads that work in step. If a thread fails, the remaining threads end at their next meeting,
/// and `run` throws the error.
class team {
 public:
  explicit team(int size) : m_size(size), m_barrier(size) {}

  /// Calls work(number) on each thread. Rethrows the error of the thread with the lowest number.
  template <class Work>
  void run(Work work) {
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(m_size));
    std::vector<std::thread> threads;
    for (int i = 0; i < m_size; ++i)
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (const left&) {  // after an error of another thread
        } catch (...) {
          errors[static_cast<std::size_t>(i)] = std::current_exception();
          // The barrier below has release order: it makes the store visible to all threads.
          m_failed.store(true, std::memory_order_relaxed);
        }
        m_barrier.arrive_and_drop();
      });
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : errors)
      if (e) std::rethrow_exception(e);
  }

  /// Waits for all threads. Their earlier writes are visible to all threads after the call.
  void meet() {
    m_barrier.arrive_and_wait();
    if (m_failed.load(std::memory_order_relaxed)) throw left{};
  }

 private:
  struct left {};
  int m_size;
  std::barrier<> m_barrier;
  std::atomic<bool> m_failed = false;  // true: a thread has failed and does not meet any more
};

}  // namespace overlap
