// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <gtest/gtest.h>
#include <starling/core/error.hpp>
#include <starling/device/recycling_allocator.hpp>

#include "device/backend.hpp"

namespace starling {
namespace {

/// A lost device: every call fails.
class lost_device final : public detail::backend_device {
 public:
  const device_properties& properties() const noexcept override { return m_properties; }
  void* allocate(memory_kind, std::size_t) override { throw device_error("lost"); }
  void deallocate(memory_kind, void*, std::size_t) noexcept override {}
  std::unique_ptr<detail::backend_stream> make_stream(const detail::stream_request&) override {
    throw device_error("lost");
  }
  std::shared_ptr<detail::backend_event> make_event() override { throw device_error("lost"); }
  bool enable_peer_access(detail::backend_device&) override { return false; }

 private:
  device_properties m_properties;
};

TEST(recycling_allocator, counts_nothing_as_in_use_that_the_device_did_not_give) {
  lost_device nowhere;
  recycling_allocator source(nowhere, memory_kind::device, "a lost device");
  EXPECT_THROW(static_cast<void>(source.allocate(1000)), device_error);
  EXPECT_EQ(source.statistics().in_use, 0u);
  EXPECT_EQ(source.statistics().misses, 0u);
}

}  // namespace
}  // namespace starling
