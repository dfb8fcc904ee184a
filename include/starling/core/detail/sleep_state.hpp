// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// The board: numbers of sleeping and of searching workers, by which a push decides whether to wake
/// a worker. A push reads them after its release store without a fence; instead, a worker that
/// falls asleep executes a process-wide barrier between its announcement and its last search.
struct alignas(64) idle_board {
  std::atomic<int> sleeping{0};
  std::atomic<int> searching{0};
  // Number of wake-ups: shows whether all workers were asleep without interruption.
  std::atomic<std::uint64_t> wakes{0};
  static constexpr unsigned no_worker = ~0U;
  std::atomic<unsigned> watcher{no_worker};  // the sleeper that checks busy workers now and then
};

/// Whether a worker sleeps.
///
///     awake --- fall_asleep (the worker) ---> asleep --- wake (one waker claims it) ---> waking
///       ^                                                                                   |
///       +--------------------- the waker has taken it off the board ------------------------+
///
/// So a worker that the board counts as sleeping runs nothing, and the board never counts too many
/// of them.
class sleep_state {
 public:
  /// Announces the sleep: from here on, a sender of work to this worker's inbox wakes it, and a
  /// sender of work for any worker wakes one that sleeps.
  void fall_asleep(idle_board& board) noexcept {
    m_state.store(asleep, std::memory_order_seq_cst);
    board.sleeping.fetch_add(1, std::memory_order_seq_cst);
  }
  void set_alarm(std::uint64_t ns) noexcept { m_alarm.store(ns, std::memory_order_seq_cst); }
  /// Waits in the kernel until the worker is woken, until `deadline` (ns, 0: never), or spuriously.
  void wait_until(std::uint64_t deadline) noexcept;
  /// Ends the sleep: wakes the worker unless another thread does, and waits until it is awake.
  void wake_up(idle_board& board) noexcept;

  /// Wakes the worker. True: it was asleep and this call woke it. Any thread.
  bool wake(idle_board& board) noexcept { return is_asleep() && end_sleep(board); }
  /// Returns whether the worker is asleep and not being woken. Any thread.
  [[nodiscard]] bool is_asleep() const noexcept {
    return m_state.load(std::memory_order_seq_cst) == asleep;
  }
  /// Returns the time at which the sleeping worker wakes by itself; 0 for never. Any thread.
  [[nodiscard]] std::uint64_t alarm() const noexcept {
    return m_alarm.load(std::memory_order_seq_cst);
  }

 private:
  bool end_sleep(idle_board& board) noexcept;

  enum state : int { awake, waking, asleep };
  std::atomic<int> m_state{awake};
  std::atomic<std::uint64_t> m_alarm{0};  // written by the worker
};

}  // namespace starling::detail
