// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include <starling/device/kernel.hpp>

/// The mapping of kernel ranges to CUDA grids of blocks.
namespace starling::cuda::detail {

inline constexpr unsigned grid_limit = 65535;  // in y and z
inline constexpr unsigned grid_limit_x = 0x7fffffff;
inline constexpr unsigned block_limit_z = 64;

/// A range of at most 2^31 − 1 indices in each direction. For such a range device code computes
/// with 32-bit numbers, which need half the registers and instructions.
struct narrow_range {
  int nx = 0;
  int ny = 1;
  int nz = 1;
};
[[nodiscard]] inline narrow_range narrowed(const range& n) noexcept {
  return {static_cast<int>(n.nx), static_cast<int>(n.ny), static_cast<int>(n.nz)};
}

template <class Kernel>
inline constexpr bool is_wide = sizeof(starling::detail::coordinate_of<Kernel>) > sizeof(int);
/// The range type of an index kernel in device code.
template <class Kernel>
using extent_of = std::conditional_t<is_wide<Kernel>, range, narrow_range>;
template <class Kernel>
[[nodiscard]] extent_of<Kernel> extent_for(const range& n) noexcept {
  if constexpr (is_wide<Kernel>)
    return n;
  else
    return narrowed(n);
}

/// Runs the indices of the calling thread, with its block at position `block_x` of `blocks` in x.
/// Strides over the grid cover indices beyond the grid's limits in y and z; x needs no stride.
template <class Kernel>
__device__ __forceinline__ void visit_indices(const Kernel& k, const narrow_range& n,
                                              unsigned block_x, unsigned) {
  // Unsigned: the last block may extend beyond the largest int.
  const unsigned x = block_x * blockDim.x + threadIdx.x;
  if (x >= static_cast<unsigned>(n.nx)) return;
  const unsigned step_y = gridDim.y * blockDim.y;
  const unsigned step_z = gridDim.z * blockDim.z;
  for (unsigned z = blockIdx.z * blockDim.z + threadIdx.z; z < static_cast<unsigned>(n.nz);
       z += step_z)
    for (unsigned y = blockIdx.y * blockDim.y + threadIdx.y; y < static_cast<unsigned>(n.ny);
         y += step_y)
      k(index3{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)});
}

/// As above with 64-bit indices and strides in all directions.
template <class Kernel>
__device__ __forceinline__ void visit_indices(const Kernel& k, const range& n, unsigned block_x,
                                              unsigned blocks) {
  const std::int64_t step_x = std::int64_t(blocks) * blockDim.x;
  const std::int64_t step_y = std::int64_t(gridDim.y) * blockDim.y;
  const std::int64_t step_z = std::int64_t(gridDim.z) * blockDim.z;
  const std::int64_t first_x = std::int64_t(block_x) * blockDim.x + threadIdx.x;
  const std::int64_t first_y = std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
  for (std::int64_t z = std::int64_t(blockIdx.z) * blockDim.z + threadIdx.z; z < n.nz; z += step_z)
    for (std::int64_t y = first_y; y < n.ny; y += step_y)
      for (std::int64_t x = first_x; x < n.nx; x += step_x) k(wide_index3{x, y, z});
}

constexpr std::int64_t blocks_for(std::int64_t extent, std::int64_t threads) noexcept {
  return extent / threads + (extent % threads != 0 ? 1 : 0);
}

/// Returns the threads of a block, at most `most`: x first, because neighbours in x are neighbours
/// in memory. Long rows are cut into equal pieces of whole warps; short rows leave threads for y
/// and z.
inline dim3 block_for(const range& n, unsigned most) noexcept {
  std::int64_t x = n.nx;
  if (x > most) {
    const std::int64_t piece = blocks_for(x, blocks_for(x, most));
    x = std::min<std::int64_t>(most, blocks_for(piece, 32) * 32);
  }
  const std::int64_t y = std::clamp<std::int64_t>(most / x, 1, n.ny);
  const std::int64_t z =
      std::clamp<std::int64_t>(most / (x * y), 1, std::min<std::int64_t>(n.nz, block_limit_z));
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

inline dim3 grid_for(const range& n, const dim3& block) noexcept {
  const auto within = [](std::int64_t blocks, unsigned limit) {
    return static_cast<unsigned>(std::min<std::int64_t>(blocks, limit));
  };
  return dim3(within(blocks_for(n.nx, block.x), grid_limit_x),
              within(blocks_for(n.ny, block.y), grid_limit),
              within(blocks_for(n.nz, block.z), grid_limit));
}

}  // namespace starling::cuda::detail
