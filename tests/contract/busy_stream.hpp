// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <starling/device.hpp>

#include "kernels.hpp"

namespace starling::contract {

/// `hold_on_device` for kernels that run on the processor, where sanitizers check memory accesses.
struct hold_on_host {
  static constexpr const char* name = "hold_on_host";
  int* raised;
  void operator()(index3) const {
    while (std::atomic_ref(*raised).load() == 0) std::this_thread::yield();
  }
};

/// Keeps a stream of an aggregator busy, on any backend, from `of` to `release`. Meanwhile nothing
/// may be launched on a device that loads code at its first use and then waits for running kernels.
class busy_stream {
 public:
  /// Returns after the launch has been submitted. `on_host`: kernels run on the runtime's workers.
  static task<std::unique_ptr<busy_stream>> of(device& d, aggregator& gathered, bool on_host) {
    auto self = std::make_unique<busy_stream>(d);
    const auto before = gathered.statistics().launches;
    self->m_over = spawn(hold(gathered, self->m_flag.data(), on_host));
    while (gathered.statistics().launches == before) co_await yield();
    co_return self;
  }
  explicit busy_stream(device& d) : m_flag(d.allocate<int>(memory_kind::pinned, 1)) {
    m_flag.data()[0] = 0;
  }
  ~busy_stream() { raise(); }

  future<void> release() {
    raise();
    return std::move(m_over);
  }

 private:
  static task<void> hold(aggregator& gathered, int* flag, bool on_host) {
    sequence s = gathered.begin();
    if (on_host)
      s.submit(range{1}, hold_on_host{flag});
    else
      s.submit(range{1}, hold_on_device{flag});
    co_await s.completion();
  }
  void raise() { std::atomic_ref(*m_flag.data()).store(1); }

  buffer<int> m_flag;
  future<void> m_over;
};

}  // namespace starling::contract
