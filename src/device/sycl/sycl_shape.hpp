// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sycl/sycl.hpp>

#include <starling/device/kernel.hpp>

namespace starling::detail {

/// Returns the number of pieces of `size` that cover `extent`.
[[nodiscard]] constexpr std::size_t pieces(std::size_t extent, std::size_t size) noexcept {
  return (extent + size - 1) / size;
}

/// Returns the shape of a work-group for an index kernel over `n`, z first as in SYCL: at most
/// `most` work-items, and `limits` in each direction. x is filled first, because neighbours in x
/// are neighbours in memory. Long rows are cut into equal pieces of whole vectors (16 work-items);
/// short rows leave room for y and z.
[[nodiscard]] inline ::sycl::range<3> group_for(const range& n, std::size_t most,
                                                const ::sycl::range<3>& limits) noexcept {
  const auto within = [](std::size_t wanted, std::int64_t extent, std::size_t limit) {
    return std::max<std::size_t>(std::min({wanted, static_cast<std::size_t>(extent), limit}), 1);
  };
  const auto nx = static_cast<std::size_t>(n.nx);
  const std::size_t longest = std::min(most, limits[2]);
  std::size_t x = nx;
  if (nx > longest) x = std::min(longest, pieces(pieces(nx, pieces(nx, longest)), 16) * 16);
  const std::size_t y = within(most / x, n.ny, limits[1]);
  const std::size_t z = within(most / (x * y), n.nz, limits[0]);
  return {z, y, x};
}

}  // namespace starling::detail
