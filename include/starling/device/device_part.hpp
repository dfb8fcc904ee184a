// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/device/stream.hpp>
#include <starling/device/types.hpp>

namespace starling {

namespace detail {
class backend_part;
}

/// A multiprocessor partition: some of a device's compute units. Kernels of its streams run on
/// these units only. Kernels of the device's ordinary streams may run on all units, including
/// these where there is room. Owned by its device and valid as long as it. Thread-safe.
class device_part {
 public:
  device_part(device& where, std::unique_ptr<detail::backend_part> units) noexcept;
  ~device_part();
  device_part(const device_part&) = delete;
  device_part& operator=(const device_part&) = delete;

  [[nodiscard]] int compute_units() const noexcept;
  /// Returns a new stream of this partition, as device::make_stream. Events, copies and memory are
  /// those of the device.
  [[nodiscard]] stream make_stream(priority urgency = priority::normal);

 private:
  device* m_device;
  std::unique_ptr<detail::backend_part> m_units;
};

/// Two disjoint multiprocessor partitions of a device: `chosen` has at least the requested number
/// of compute units, `rest` the remainder.
struct divided_device {
  device_part& chosen;
  device_part& rest;
};

}  // namespace starling
