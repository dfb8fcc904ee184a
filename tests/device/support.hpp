// SPDX-License-Identifier: Apache-2.0
// Shared code of the tests of device: a runtime on the host backend, a queue without work.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <starling/core/runtime.hpp>

#include "device/backend.hpp"

namespace starling_test {

/// Returns options of a runtime whose devices are the host's. `extra`: further options.
inline starling::runtime_options on_host(unsigned workers,
                                         std::map<std::string, std::string> extra = {}) {
  starling::runtime_options options;
  options.workers = workers;
  options.bind = starling::binding::none;
  options.extra = std::move(extra);
  options.extra.try_emplace("backend", "host");
  return options;
}

/// A queue that accepts all operations, runs none and has no error.
class idle_queue : public starling::detail::backend_stream {
 public:
  void launch(const starling::detail::kernel_call&) override {}
  void copy(std::span<const starling::detail::transfer>,
            starling::detail::member_observer*) override {}
  void fill(void*, const void*, std::size_t, std::size_t) override {}
  void record(const std::shared_ptr<starling::detail::backend_event>&) override {}
  void wait(const std::shared_ptr<starling::detail::backend_event>&,
            starling::detail::dependency) override {}
  void wait_native(void*) override {}
  void mark(const starling::detail::completion_mark&) override {}
  void synchronize() override {}
  void begin_capture() override {}
  std::shared_ptr<starling::detail::backend_graph> end_capture() override { return nullptr; }
  void launch_graph(const std::shared_ptr<starling::detail::backend_graph>&) override {}
  bool is_idle() override { return true; }
  std::exception_ptr query_error() noexcept override { return nullptr; }
  void* native() const noexcept override { return nullptr; }
};

}  // namespace starling_test
