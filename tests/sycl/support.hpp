// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/device/interop/sycl.hpp>

namespace starling::sycl {

inline runtime_options options_for(const char* backend, const char* completion) {
  runtime_options options = runtime_options::from_environment();
  options.workers = 2;
  options.bind = binding::none;
  options.extra["backend"] = backend;
  options.extra["completion"] = completion;
  return options;
}

/// Tests on the first device, with each way of completion.
class with_completion : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    m_runtime = std::make_unique<runtime>(options_for("sycl", GetParam()));
    m_device = &devices(*m_runtime).device(0);
  }
  [[nodiscard]] device& first() { return *m_device; }
  template <class Body>
  void run(Body body) {
    m_runtime->sync_wait(body(*m_device));
  }

 private:
  std::unique_ptr<runtime> m_runtime;
  device* m_device = nullptr;
};

/// Returns the text of the device_error that the await throws, or an empty string.
template <class Awaitable>
task<std::string> error_of(Awaitable awaited) {
  try {
    co_await std::move(awaited);
  } catch (const device_error& e) {
    co_return e.what();
  }
  co_return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns the number of threads for SYCL's host tasks: so many blocked tasks leave no thread free.
inline std::size_t host_threads() { return std::stoul(std::getenv("SYCL_QUEUE_THREAD_POOL_SIZE")); }

/// Keeps a queue busy until `open`, so that later work in the queue cannot complete by chance.
class gate {
 public:
  void close(::sycl::queue& work) {
    work.submit([this](::sycl::handler& h) { h.host_task([this] { m_open.wait(false); }); });
  }
  void open() {
    m_open.store(true);
    m_open.notify_all();
  }
  ~gate() { open(); }

 private:
  std::atomic<bool> m_open{false};
};

}  // namespace starling::sycl
