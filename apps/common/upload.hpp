// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

namespace apps {

/// A copy of `values` in device memory that belongs to `s`, in whose order it is made and freed.
template <class T>
[[nodiscard]] starling::buffer<T> upload(starling::device& where, starling::stream& s,
                                         const std::vector<T>& values) {
  using starling::memory_kind;
  auto on_host = where.allocate<T>(memory_kind::pinned, values.size(), s);
  auto on_device = where.allocate<T>(memory_kind::device, values.size(), s);
  std::copy(values.begin(), values.end(), on_host.begin());
  s.copy(on_device, on_host);
  return on_device;
}

}  // namespace apps
