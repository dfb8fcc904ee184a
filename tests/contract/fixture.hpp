// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "kernels.hpp"

namespace starling::contract {

/// A combination of parameters with which the suite runs.
struct setup {
  const char* backend;
  const char* completion;
};

/// Prints a parameter for GoogleTest.
inline void PrintTo(const setup& s, std::ostream* out) {
  *out << s.backend << ", completion by " << s.completion;
}

/// Returns the name of an instance, for INSTANTIATE_TEST_SUITE_P.
inline std::string name_of(const testing::TestParamInfo<setup>& instance) {
  return std::string(instance.param.backend) + "_" + instance.param.completion;
}

inline constexpr setup all_setups[] = {
    {"host", "word"},   {"host", "event"},   {"host", "callback"},   {"host", "block"},
    {"cuda", "word"},   {"cuda", "event"},   {"cuda", "callback"},   {"cuda", "block"},
    {"sycl", "word"},   {"sycl", "event"},   {"sycl", "callback"},   {"sycl", "block"},
    {"kokkos", "word"}, {"kokkos", "event"}, {"kokkos", "callback"}, {"kokkos", "block"}};

/// Returns the options of a test's runtime, from the environment, so that STARLING_CHAOS applies.
inline runtime_options options_for(const setup& s, unsigned workers = 2) {
  runtime_options options = runtime_options::from_environment();
  options.workers = workers;
  options.bind = binding::none;
  options.extra["backend"] = s.backend;
  options.extra["completion"] = s.completion;
  return options;
}

/// A runtime with one device of the backend under test, or a skip that gives the reason.
class device_contract : public testing::TestWithParam<setup> {
 protected:
  void SetUp() override { start(options_for(GetParam())); }

  void start(const runtime_options& options) {
    m_runtime.reset();
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
  [[nodiscard]] bool on_host() { return m_devices->backend() == backend_kind::host; }

  /// Returns whether kernels run as processor code: also those of Kokkos without a GPU.
  [[nodiscard]] bool kernels_throw() {
    return on_host() ||
           (m_devices->backend() == backend_kind::kokkos && first().properties().bus_id.empty());
  }

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

}  // namespace starling::contract
