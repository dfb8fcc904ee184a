// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <sycl/sycl.hpp>

#include "../backend.hpp"
#include "sycl_event.hpp"
#include "sycl_stream.hpp"

namespace starling::detail {

class sycl_device final : public backend_device {
 public:
  sycl_device(const ::sycl::context& where, const ::sycl::device& device, worker& home,
              tracer& log);

  [[nodiscard]] const device_properties& properties() const noexcept override {
    return m_properties;
  }
  [[nodiscard]] void* allocate(memory_kind kind, std::size_t bytes) override;
  void deallocate(memory_kind kind, void* memory, std::size_t bytes) noexcept override;

  [[nodiscard]] std::unique_ptr<backend_stream> make_stream(const stream_request& r) override;
  [[nodiscard]] std::shared_ptr<backend_event> make_event() override {
    return std::make_shared<sycl_event>();
  }
  /// The times are those of barriers in queues with profiling.
  [[nodiscard]] std::shared_ptr<backend_event> make_timed_event() override {
    return m_has_times ? make_event() : nullptr;
  }
  bool enable_peer_access(backend_device& other) override;

 private:
  sycl_resources m_shared;
  device_properties m_properties;
  bool m_has_times;
};

}  // namespace starling::detail
