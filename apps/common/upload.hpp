// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ranges>

#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

namespace apps {

/// Returns a copy of `values` in device memory. It is allocated, filled and freed in the order of
/// `s`.
template <std::ranges::contiguous_range Values>
[[nodiscard]] auto upload(starling::device& where, starling::stream& s, const Values& values) {
  using starling::memory_kind;
  using T = std::ranges::range_value_t<Values>;
  auto on_host = where.allocate<T>(memory_kind::pinned, values.size(), s);
  auto on_device = where.allocate<T>(memory_kind::device, values.size(), s);
  std::copy(values.begin(), values.end(), on_host.begin());
  s.copy(on_device, on_host);
  return on_device;
}

}  // namespace apps
