// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/world.hpp>
#include <starling/resident/granularity.hpp>
#include <starling/resident/interop/cuda_memory.cuh>
#include <starling/resident/reduction.hpp>

namespace starling::resident::cuda {

/// A block of threads that runs a scheduler, or a part of it. The same members as
/// `detail::host_group`, and what the kernel asks.
class block_group : public device_memory {
 public:
  static constexpr granularity kind = granularity::block;
  static constexpr bool is_wide = false;
  block_group() = default;
  __device__ block_group(const detail::world&, std::uint32_t) noexcept {}
  /// All threads of the block, also those that serve, before anything else.
  __device__ void begin() const noexcept { __syncthreads(); }
  /// Which of the device's schedulers.
  [[nodiscard]] __device__ std::uint32_t number() const noexcept { return blockIdx.x; }
  /// Whether the leader is in this block, and those who serve.
  [[nodiscard]] __device__ bool leads() const noexcept { return true; }

  [[nodiscard]] __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int size() const noexcept {
    return static_cast<int>(blockDim.x) - serving;
  }
  [[nodiscard]] __device__ int block_size() const noexcept { return size(); }
  __device__ void sync() const noexcept {
    asm volatile("bar.sync 1, %0;" ::"r"(size()) : "memory");
  }
  /// All read in the same memory.
  template <class T>
  __device__ void tell(T&) const noexcept {
    sync();
  }
  /// By warps, then over their results; a tree, so the order differs from that of one thread.
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
    sync();  // before the next one writes there
    return all;
  }

  /// Within warps, and then each thread adds up what the warps before have.
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
    const T before = __shfl_up_sync(~0u, upto, 1);  // `upto - x` would not be exact for all types
    prefix_sum<T> sum{lane == 0 ? T{} : before, T{}};
    for (int w = 0; w < warps; ++w) {
      if (w < warp) sum.before += of_warp[w];
      sum.all += of_warp[w];
    }
    sync();  // before the next one writes there
    return sum;
  }
};

}  // namespace starling::resident::cuda
