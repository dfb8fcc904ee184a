// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include <starling/core/runtime.hpp>
#include <starling/net/transport.hpp>

namespace starling::detail {

/// Watches the network while workers sleep: a thread that sleeps until messages arrive, wakes a
/// worker then, and rests until a worker is about to sleep again.
class network_watch {
 public:
  /// `on_silence`: called by the thread at intervals while no message arrives.
  network_watch(runtime& owner, transport& network, std::function<void()> on_silence);
  ~network_watch();
  network_watch(const network_watch&) = delete;
  network_watch& operator=(const network_watch&) = delete;

  /// Called by a worker that is about to sleep. Returns false when it must poll instead.
  [[nodiscard]] bool begin() noexcept;

 private:
  void run() noexcept;

  runtime& m_runtime;
  transport& m_network;
  std::function<void()> m_on_silence;
  // A worker changes rests → watches, the thread watches → rests, the destructor either to `ends`.
  // Sequentially consistent: a worker that reads `watches` relies on the thread to detect later
  // messages.
  static constexpr int rests = 0, watches = 1, ends = 2;
  std::atomic<int> m_state{rests};
  int m_wake;  // event descriptor that ends a poll
  std::thread m_thread;
};

}  // namespace starling::detail
