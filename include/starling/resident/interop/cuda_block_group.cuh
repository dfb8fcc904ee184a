// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/world.hpp>
#include <starling/resident/granularity.hpp>
#include <starling/resident/interop/cuda_memory.cuh>
#include <starling/resident/reduction.hpp>

namespace starling::resident::cuda {

/// A block of threads that runs a scheduler, or one block of a larger group. It has the members of
/// `detail::host_group`, and further ones for the kernel.
class block_group : public device_memory {
 public:
  static constexpr granularity kind = granularity::block;
  static constexpr bool is_wide = false;
  block_group() = default;
  __device__ block_group(const detail::world&, std::uint32_t) noexcept {}
  /// Called first, by all threads of the block including the service warps.
  __device__ void begin() const noexcept { __syncthreads(); }
  /// Returns the number of the scheduler on its device.
  [[nodiscard]] __device__ std::uint32_t number() const noexcept { return blockIdx.x; }
  /// Returns whether the leader and the service warps are in this block.
  [[nodiscard]] __device__ bool leads() const noexcept { return true; }

  [[nodiscard]] __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int size() const noexcept {
    return static_cast<int>(blockDim.x) - service_threads;
  }
  [[nodiscard]] __device__ int block_size() const noexcept { return size(); }
  __device__ void sync() const noexcept {
    asm volatile("bar.sync 1, %0;" ::"r"(size()) : "memory");
  }
  /// A `sync`: all threads read the leader's own object.
  template <class T>
  __device__ void tell(T&) const noexcept {
    sync();
  }
  /// Reduces within warps, then over the warps' results: a tree, so the order of operations differs
  /// from that of a sequential loop.
  template <class T, class Op>
  [[nodiscard]] __device__ T reduce(T x, Op op) const noexcept {
    __shared__ T of_warp[32];
    const int lane = rank() % 32, warp = rank() / 32, warps = (size() + 31) / 32;
    const auto within = [&](T value, int n) {
      for (int step = 16; step != 0; step /= 2) {
        const T other = __shfl_down_sync(~0u, value, step);
        if (lane + step < n) value = op(value, other);
      }
      return value;
    };
    x = within(x, size() - 32 * warp < 32 ? size() - 32 * warp : 32);
    if (lane == 0) of_warp[warp] = x;
    sync();
    if (warp == 0) {
      x = within(lane < warps ? of_warp[lane] : x, warps);
      if (lane == 0) of_warp[0] = x;
    }
    sync();
    const T all = of_warp[0];
    sync();  // all have read before the next call writes
    return all;
  }

  /// Scans within warps; then each thread adds the sums of the preceding warps.
  template <class T>
  [[nodiscard]] __device__ prefix_sum<T> scan(T x) const noexcept {
    __shared__ T of_warp[32];
    const int lane = rank() % 32, warp = rank() / 32, warps = (size() + 31) / 32;
    T upto = x;
    for (int step = 1; step != 32; step *= 2) {
      const T other = __shfl_up_sync(~0u, upto, static_cast<unsigned>(step));
      if (lane >= step) upto += other;
    }
    if (lane == 31 || rank() == size() - 1) of_warp[warp] = upto;
    sync();
    const T before = __shfl_up_sync(~0u, upto, 1);  // `upto - x` is not exact for all types
    prefix_sum<T> sum{lane == 0 ? T{} : before, T{}};
    for (int w = 0; w < warps; ++w) {
      if (w < warp) sum.before += of_warp[w];
      sum.all += of_warp[w];
    }
    sync();  // all have read before the next call writes
    return sum;
  }
};

}  // namespace starling::resident::cuda
