// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <starling/core.hpp>
#include <starling/device.hpp>

#include "kernels.hpp"

namespace starling::gpu_test {

/// Selects one device, the first, so that objects made outside the runtime are on the same device.
inline runtime_options cuda_options(const std::string& completion = "word") {
  runtime_options o = runtime_options::from_environment();
  o.workers = 2;
  o.bind = binding::none;
  o.extra["backend"] = "cuda";
  o.extra["completion"] = completion;
  o.extra.insert_or_assign("devices", std::string(1, '1'));
  return o;
}

/// A runtime on CUDA devices, or a skip that gives the reason.
class gpu : public testing::Test {
 protected:
  void SetUp() override { start(cuda_options()); }

  void start(const runtime_options& options) {
    m_runtime = std::make_unique<runtime>(options);
    try {
      m_devices = &devices(*m_runtime);
    } catch (const backend_unavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }

  [[nodiscard]] runtime& rt() { return *m_runtime; }
  [[nodiscard]] device_set& all() { return *m_devices; }
  [[nodiscard]] device& first() { return m_devices->device(0); }

  /// Runs `body(device&)`, a coroutine, to its end.
  template <class Body>
  void run(Body body) {
    m_runtime->sync_wait(body(first()));
  }

 private:
  std::unique_ptr<runtime> m_runtime;
  device_set* m_devices = nullptr;
};

/// Returns `count` equal elements that host and device can access.
template <class T>
buffer<T> shared_buffer(device& d, std::size_t count, T value) {
  buffer<T> result = d.allocate<T>(memory_kind::pinned, count);
  for (T& element : result) element = value;
  return result;
}

}  // namespace starling::gpu_test
