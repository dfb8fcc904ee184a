// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

#include <starling/core/detail/worker.hpp>

namespace starling::detail {

/// Protects what many threads use and one takes away: whoever uses it says so meanwhile, and who
/// takes it away lets nobody in any more and waits for those who are inside. Thread-safe; `end` is
/// called once, by none of those. (Windows' kernel calls it run-down protection.)
class rundown {
 public:
  /// One who uses it, or false: it has been taken away.
  class [[nodiscard]] use {
   public:
    explicit use(std::atomic<int>* inside) noexcept : m_inside(inside) {}
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    // Release: who waits sees all that was done inside.
    ~use() {
      if (m_inside != nullptr) m_inside->fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return m_inside != nullptr; }

   private:
    std::atomic<int>* m_inside;
  };

  explicit rundown(std::size_t workers)
      : m_slots(std::make_unique<slot[]>(workers + 1)), m_workers(workers) {}

  use begin() noexcept {
    std::atomic<int>& inside = slot_here();
    // Both seq_cst: of this and `end` one at least sees the other's mark.
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (!m_has_ended.load(std::memory_order_seq_cst)) [[likely]]
      return use(&inside);
    inside.fetch_sub(1, std::memory_order_release);
    return use(nullptr);
  }
  void end() noexcept {
    m_has_ended.store(true, std::memory_order_seq_cst);
    for (std::size_t i = 0; i <= m_workers; ++i)
      while (m_slots[i].inside.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }
  [[nodiscard]] bool has_ended() const noexcept {
    return m_has_ended.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(64) slot {
    std::atomic<int> inside{0};
  };
  /// Workers do not disturb each other; other threads share one.
  [[nodiscard]] std::atomic<int>& slot_here() noexcept {
    const worker* const here = worker::current();
    const std::size_t index = here == nullptr ? m_workers : std::size_t(here->index());
    return m_slots[std::min(index, m_workers)].inside;
  }

  std::unique_ptr<slot[]> m_slots;
  std::size_t m_workers;
  std::atomic<bool> m_has_ended{false};
};

}  // namespace starling::detail
