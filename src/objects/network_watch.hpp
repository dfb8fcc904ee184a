// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include <starling/core/runtime.hpp>
#include <starling/net/transport.hpp>

namespace starling::detail {

/// Watches the network while workers sleep: a thread that is asleep itself until something comes,
/// wakes a worker then, and rests until one wants to sleep again.
class network_watch {
 public:
  /// `on_silence` is called by the thread every now and then while nothing comes.
  network_watch(runtime& owner, transport& network, std::function<void()> on_silence);
  ~network_watch();
  network_watch(const network_watch&) = delete;
  network_watch& operator=(const network_watch&) = delete;

  /// A worker wants to sleep. False: there is something to be polled for.
  [[nodiscard]] bool begin() noexcept;

 private:
  void run() noexcept;

  runtime& m_runtime;
  transport& m_network;
  std::function<void()> m_on_silence;
  // rests → watches by a worker, back by the thread; 2 ends it. Sequentially consistent: a worker
  // that finds it watching relies on what comes later being seen.
  static constexpr int rests = 0, watches = 1, ends = 2;
  std::atomic<int> m_state{rests};
  int m_wake;  // a descriptor that ends a wait
  std::thread m_thread;
};

}  // namespace starling::detail
