// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "objects/checkpoint/share_format.hpp"

namespace starling::detail {

/// Runs writes of checkpoints on a thread of its own, in the order of the calls, so that workers do
/// not wait for a disk. Thread-safe.
class background_writer {
 public:
  /// A write; it owns the copies that it reads, or keeps them valid.
  using job = std::function<share_summary()>;
  /// Runs on the thread after the write, with its result or its error (then the summary is empty).
  /// It must not throw and must not destroy the writer.
  using completion = std::function<void(share_summary, std::exception_ptr)>;

  /// @throws resource_error if the system has no thread
  background_writer();
  background_writer(const background_writer&) = delete;
  background_writer& operator=(const background_writer&) = delete;
  /// Waits for all writes.
  ~background_writer();

  void write(job what, completion done);

 private:
  struct request {
    job what;
    completion done;
  };
  void run();

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<request> m_requests;
  bool m_ends = false;
  std::thread m_thread;
};

}  // namespace starling::detail
