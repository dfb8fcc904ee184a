// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/device/stream.hpp>
#include <starling/device/types.hpp>

namespace starling {

namespace detail {
class backend_part;
}

/// Some of a device's compute units. Kernels of its streams run on these alone; those of other
/// streams of the device run on all, on these as far as there is room. Lives as long as its device.
/// Thread-safe.
class device_part {
 public:
  device_part(device& where, std::unique_ptr<detail::backend_part> units) noexcept;
  ~device_part();
  device_part(const device_part&) = delete;
  device_part& operator=(const device_part&) = delete;

  [[nodiscard]] int compute_units() const noexcept;
  /// As device::make_stream. Events, copies and memory are those of the device.
  [[nodiscard]] stream make_stream(priority urgency = priority::normal);

 private:
  device* m_device;
  std::unique_ptr<detail::backend_part> m_units;
};

/// A device in two, without a compute unit in common.
struct divided_device {
  device_part& chosen;
  device_part& rest;
};

}  // namespace starling
