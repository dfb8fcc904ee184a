// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/device/stream.hpp>
#include <starling/device/types.hpp>

namespace starling {

namespace detail {
class backend_partition;
}

/// A multiprocessor partition: some of a device's compute units. Kernels of its streams run on
/// these units only. Kernels of the device's ordinary streams may run on all units, including
/// these where there is room. Owned by its device and valid as long as it. Thread-safe.
class device_partition {
 public:
  device_partition(device& target, std::unique_ptr<detail::backend_partition> units) noexcept;
  ~device_partition();
  device_partition(const device_partition&) = delete;
  device_partition& operator=(const device_partition&) = delete;

  [[nodiscard]] int compute_units() const noexcept;
  /// Returns a new stream of this partition, as device::make_stream. Events, copies and memory are
  /// those of the device.
  [[nodiscard]] stream make_stream(starling::priority priority = starling::priority::normal);

 private:
  device* m_device;
  std::unique_ptr<detail::backend_partition> m_units;
};

/// Two disjoint multiprocessor partitions of a device: `chosen` has at least the requested number
/// of compute units, `remainder` the remaining ones.
struct divided_device {
  device_partition& chosen;
  device_partition& remainder;
};

}  // namespace starling
