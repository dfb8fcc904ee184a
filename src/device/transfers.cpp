// SPDX-License-Identifier: Apache-2.0
#include "transfers.hpp"

#include <algorithm>
#include <functional>

namespace starling::detail {
namespace {

bool comes_first(const transfer& a, const transfer& b) noexcept {
  return std::less<>{}(a.src, b.src);
}

bool joins(const transfer& a, const transfer& b) noexcept {
  return static_cast<const std::byte*>(a.src) + a.bytes == b.src &&
         static_cast<std::byte*>(a.dst) + a.bytes == b.dst;
}

}  // namespace

std::size_t merge_adjacent(std::span<transfer> transfers) noexcept {
  if (transfers.empty()) return 0;
  if (!std::ranges::is_sorted(transfers, comes_first)) std::ranges::sort(transfers, comes_first);
  std::size_t last = 0;
  for (const transfer& next : transfers.subspan(1)) {
    if (joins(transfers[last], next))
      transfers[last].bytes += next.bytes;
    else
      transfers[++last] = next;
  }
  return last + 1;
}

}  // namespace starling::detail
