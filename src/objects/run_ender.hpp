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

/// Ends a job's run on this rank even while all workers are busy: a thread that handles the
/// messages that end the run, and polls the network while no worker does.
class run_ender {
 public:
  /// `patience`: time without a poll by a worker, after which the thread polls.
  run_ender(object_space& space, transport& network,
            std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~run_ender();
  run_ender(const run_ender&) = delete;
  run_ender& operator=(const run_ender&) = delete;

  /// Called by the thread in `run`: stops and joins the thread; later failures have no effect.
  void stop() noexcept;
  /// Any thread: the run has failed with `error`. Only the first call has an effect. `is_of_all`:
  /// the other ranks notice the failure themselves.
  void fail(const std::exception_ptr& error, bool is_of_all) noexcept;
  /// Any thread: handles a message that ends the run. @throws std::bad_alloc
  void give(std::unique_ptr<received_call> m);
  /// Allows the thread to poll from now on. Called when the job accepts messages.
  void watch_workers() noexcept;
  /// Counts a poll by a worker. Called within a poll; only one thread polls at a time.
  void note_poll() noexcept {
    m_polls.store(m_polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void run() noexcept;
  void poll_for_busy_workers() noexcept;

  object_space& m_space;
  transport& m_network;
  const std::chrono::milliseconds m_patience;
  std::atomic<std::uint64_t> m_polls{0};  // relaxed: only compared with an earlier value
  std::uint64_t m_seen_polls = 0;         // accessed by the thread only

  std::mutex m_mutex;  // guards the members below, except m_thread
  std::condition_variable m_changed;
  bool m_stops = false;
  bool m_watches = false;
  bool m_has_failed = false;
  bool m_is_of_all = false;
  std::exception_ptr m_error;  // failure that the thread has not handled yet
  std::vector<std::unique_ptr<received_call>> m_received;
  std::thread m_thread;
};

}  // namespace starling::detail
