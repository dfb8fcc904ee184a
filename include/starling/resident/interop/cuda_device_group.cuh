// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/world.hpp>
#include <starling/resident/granularity.hpp>
#include <starling/resident/interop/cuda_wide_group.cuh>

namespace starling::resident::cuda {

/// The blocks of a `device_group`: all blocks of a launch, at most `most_blocks`. They synchronize
/// through the device's memory.
class device_blocks {
 public:
  static constexpr granularity kind = granularity::device;
  __device__ device_blocks(const detail::world& w, std::uint32_t device) noexcept
      : m_barrier(w.at<detail::block_barrier>(device, w.l.barrier)) {}

  [[nodiscard]] __device__ static unsigned rank() noexcept { return blockIdx.x; }
  [[nodiscard]] __device__ static unsigned count() noexcept { return gridDim.x; }
  [[nodiscard]] __device__ static unsigned number() noexcept { return 0; }
  __device__ void begin() const noexcept {
    if (threadIdx.x == 0) turns().partial = turns().told = 0;
    __syncthreads();
  }

  // --- called by the first warp of each block
  /// The increments of all blocks add up to half of the counter's range. So the counter's highest
  /// bit flips when all blocks have arrived, and does not flip again before all have read it.
  __device__ void sync() const noexcept {
    __syncwarp();
    if (threadIdx.x == 0) {
      constexpr std::uint32_t half = std::uint32_t{1} << 31;
      const std::uint32_t mine = rank() == 0 ? half - (count() - 1) : 1;
      std::uint32_t before, now;
      // Releases the writes of this block; the fence below acquires those of the other blocks.
      asm volatile("atom.release.gpu.global.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(&m_barrier->arrived), "r"(mine)
                   : "memory");
      do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(now)
                     : "l"(&m_barrier->arrived)
                     : "memory");
      } while (((before ^ now) & half) == 0);
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncwarp();
  }
  /// Uses two sets of words in turn: the leader may publish the next value before all blocks have
  /// fetched this one.
  template <class T>
  __device__ void publish(const T& what) const noexcept {
    static_assert(sizeof(T) <= sizeof m_barrier->told[0]);
    std::uint32_t* const told = next_told();
    for (unsigned i = threadIdx.x; i < words_told<T>; i += 32)
      asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(&told[i]), "r"(word_of(what, i))
                   : "memory");
  }
  template <class T>
  __device__ void fetch(T& what) const noexcept {
    const std::uint32_t* const told = next_told();
    for (unsigned i = threadIdx.x; i < words_told<T>; i += 32)
      set_word_of(what, i, device_memory::load(&told[i]));
  }
  /// Stores this block's word for all blocks, as in `cluster_blocks`.
  __device__ void give(std::uint64_t word) const noexcept {
    if (threadIdx.x != 0) return;
    turns().partial ^= 1;
    asm volatile(
        "st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(&m_barrier->partials[turns().partial][rank()]),
        "l"(word)
        : "memory");
  }
  [[nodiscard]] __device__ std::uint64_t given(int block) const noexcept {
    return device_memory::load(&m_barrier->partials[turns().partial][block]);
  }

 private:
  /// Indices of the sets of words. Each block has them in its shared memory, with the same values
  /// in all blocks.
  struct turn {
    std::uint32_t partial;  // last used, of `block_barrier::partials`
    std::uint32_t told;     // next used, of `block_barrier::told`
  };
  [[nodiscard]] __device__ static turn& turns() noexcept {
    __shared__ turn here;
    return here;
  }
  [[nodiscard]] __device__ std::uint32_t* next_told() const noexcept {
    const std::uint32_t which = turns().told;
    __syncwarp();  // all lanes have read turns().told
    if (threadIdx.x == 0) turns().told = which ^ 1;
    return m_barrier->told[which];
  }
  detail::block_barrier* m_barrier;
};

/// The group of all blocks of a device, which has one scheduler.
using device_group = wide_group<device_blocks>;

}  // namespace starling::resident::cuda
