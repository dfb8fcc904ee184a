// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <starling/net/transport.hpp>
#include <starling/objects/detail/object_space.hpp>

namespace starling::detail {

/// Ends a job's run on this rank although all workers are busy: a thread that works off the
/// messages that end the run, and makes progress on the network while no worker does.
class run_ender {
 public:
  /// After `patience` without a poll of a worker the thread polls itself.
  run_ender(object_space& space, transport& network,
            std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~run_ender();
  run_ender(const run_ender&) = delete;
  run_ender& operator=(const run_ender&) = delete;

  /// By the thread in `run`: nothing is acted upon any more. Returns when the thread has ended.
  void stop() noexcept;
  /// Any thread: the run has failed with `error`. The first call counts. `is_of_all`: the other
  /// ranks know of it, too.
  void fail(const std::exception_ptr& error, bool is_of_all) noexcept;
  /// Any thread: a message that ends the run. @throws std::bad_alloc
  void give(std::unique_ptr<arrival> m);
  /// From now on the thread makes progress where no worker does: the job takes messages in.
  void watch_workers() noexcept;
  /// Within a poll: a worker polls.
  void note_poll() noexcept {
    m_polls.store(m_polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void run() noexcept;
  void poll_for_busy_workers() noexcept;

  object_space& m_space;
  transport& m_network;
  const std::chrono::milliseconds m_patience;
  std::atomic<std::uint64_t> m_polls{0};  // orders nothing: compared with an earlier reading
  std::uint64_t m_seen_polls = 0;         // the thread's own

  std::mutex m_mutex;  // of all below
  std::condition_variable m_changed;
  bool m_stops = false;
  bool m_watches = false;
  bool m_has_failed = false;
  bool m_is_of_all = false;
  std::exception_ptr m_error;  // not yet acted upon
  std::vector<std::unique_ptr<arrival>> m_arrived;
  std::thread m_thread;
};

}  // namespace starling::detail
