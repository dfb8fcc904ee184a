// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace starling::detail {

/// A copy of `bytes` > 0 contiguous bytes.
struct transfer {
  void* dst;
  const void* src;
  std::size_t bytes;
  friend bool operator==(const transfer&, const transfer&) = default;
};

}  // namespace starling::detail
