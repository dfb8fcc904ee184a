// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/world.hpp>
#include <starling/resident/granularity.hpp>
#include <starling/resident/interop/cuda_block_group.cuh>
#include <starling/resident/interop/cuda_memory.cuh>
#include <starling/resident/reduction.hpp>

namespace starling::resident::cuda {

/// Returns a value as the 8-byte word that blocks exchange.
template <class T>
[[nodiscard]] __device__ std::uint64_t to_word(T x) noexcept {
  static_assert(sizeof(T) == 8 || sizeof(T) == 4 || sizeof(T) == 2 || sizeof(T) == 1);
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<std::uint64_t>(x);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(x);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(x);
  else
    return std::bit_cast<std::uint8_t>(x);
}
template <class T>
[[nodiscard]] __device__ T from_word(std::uint64_t word) noexcept {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(word);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(std::uint32_t(word));
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(std::uint16_t(word));
  else
    return std::bit_cast<T>(std::uint8_t(word));
}

/// Number of 4-byte words of a value of type T that the leader sends to all blocks.
template <class T>
inline constexpr unsigned words_told = sizeof(T) / 4;
template <class T>
[[nodiscard]] __device__ std::uint32_t word_of(const T& what, unsigned i) noexcept {
  return detail::load_as<std::uint32_t>(reinterpret_cast<const unsigned char*>(&what) + 4 * i);
}
template <class T>
__device__ void set_word_of(T& what, unsigned i, std::uint32_t word) noexcept {
  detail::store_as(reinterpret_cast<unsigned char*>(&what) + 4 * i, word);
}

/// Several blocks that run a scheduler together. `Blocks` implements their synchronization and data
/// exchange. The leader is in the first block. Each block has a scheduler object in its shared
/// memory, into which `tell` copies values of the leader.
///
/// A `sync` is a barrier of the threads of each block, then of the first warps of all blocks, then
/// again of the threads of each block. All earlier writes are visible to all threads afterwards, by
/// block barrier, release, acquire and block barrier in this order.
template <class Blocks>
class wide_group : public device_memory {
 public:
  static constexpr granularity kind = Blocks::kind;
  static constexpr bool is_wide = true;
  // Many, because a `sync` takes long and the leader does not poll for messages meanwhile.
  static constexpr std::uint32_t looks_at_once = 256;

  __device__ wide_group(const detail::world& w, std::uint32_t device) noexcept
      : m_blocks(w, device), m_first(static_cast<int>(Blocks::rank()) * block_size()),
        m_size(static_cast<int>(Blocks::count()) * block_size()) {}
  __device__ void begin() const noexcept { m_blocks.begin(); }
  [[nodiscard]] __device__ std::uint32_t number() const noexcept { return Blocks::number(); }
  [[nodiscard]] __device__ bool leads() const noexcept { return m_first == 0; }

  [[nodiscard]] __device__ int rank() const noexcept { return m_first + m_block.rank(); }
  [[nodiscard]] __device__ int size() const noexcept { return m_size; }
  [[nodiscard]] __device__ int block_size() const noexcept { return m_block.size(); }
  __device__ void sync() const noexcept {
    m_block.sync();
    if (warp() == 0) m_blocks.sync();
    m_block.sync();
  }
  template <class T>
  __device__ void tell(T& what) const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
    m_block.sync();
    if (warp() == 0) {
      if (leads()) m_blocks.publish(what);
      m_blocks.sync();
      if (!leads()) m_blocks.fetch(what);
    }
    m_block.sync();
  }

  /// Reduces within warps, within blocks, then over the blocks' results. Every block does the last
  /// step itself: the inputs and the order are the same, so all get the same result.
  template <class T, class Op>
  [[nodiscard]] __device__ T reduce(T x, Op op) const noexcept {
    __shared__ T of_warp[32];
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const int warps = block_size() / 32;
    x = within(x, op, 32);
    if (lane == 0) of_warp[warp()] = x;
    m_block.sync();
    if (warp() == 0) {
      const int blocks = static_cast<int>(Blocks::count());
      x = within(lane < warps ? of_warp[lane] : x, op, warps);
      m_blocks.give(to_word(x));
      m_blocks.sync();
      if (lane < blocks) x = from_word<T>(m_blocks.given(lane));
      for (int b = lane + 32; b < blocks; b += 32) x = op(x, from_word<T>(m_blocks.given(b)));
      x = within(x, op, blocks < 32 ? blocks : 32);
      if (lane == 0) of_warp[0] = x;
    }
    m_block.sync();
    const T all = of_warp[0];
    m_block.sync();  // all have read before the next call writes
    return all;
  }

  /// Scans within warps; then each thread adds the sums of the preceding warps and blocks.
  template <class T>
  [[nodiscard]] __device__ prefix_sum<T> scan(T x) const noexcept {
    __shared__ T of_warp[32];
    __shared__ T of_blocks[2];
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const int warps = block_size() / 32;
    const T upto = sum_upto(x);
    if (lane == 31) of_warp[warp()] = upto;
    m_block.sync();
    const T before = __shfl_up_sync(~0u, upto, 1);  // `upto - x` is not exact for all types
    prefix_sum<T> in_block{lane == 0 ? T{} : before, T{}};
    for (int w = 0; w < warps; ++w) {
      if (w < warp()) in_block.before += of_warp[w];
      in_block.all += of_warp[w];
    }
    if (warp() == 0) {
      const prefix_sum<T> blocks = scan_blocks(in_block.all);
      if (lane == 0) of_blocks[0] = blocks.before;
      if (lane == 0) of_blocks[1] = blocks.all;
    }
    m_block.sync();
    const prefix_sum<T> sum{of_blocks[0] + in_block.before, of_blocks[1]};
    m_block.sync();  // all have read before the next call writes
    return sum;
  }

 private:
  [[nodiscard]] __device__ static int warp() noexcept { return static_cast<int>(threadIdx.x / 32); }
  /// Reduces the first n lanes of a warp; the result is valid in lane 0.
  template <class T, class Op>
  [[nodiscard]] __device__ static T within(T value, Op op, int n) noexcept {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (int step = 16; step != 0; step /= 2) {
      const T other = __shfl_down_sync(~0u, value, step);
      if (lane + step < n) value = op(value, other);
    }
    return value;
  }
  /// Returns the sum of the lanes up to and including this one.
  template <class T>
  [[nodiscard]] __device__ static T sum_upto(T x) noexcept {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (int step = 1; step != 32; step *= 2) {
      const T other = __shfl_up_sync(~0u, x, static_cast<unsigned>(step));
      if (lane >= step) x += other;
    }
    return x;
  }
  /// Returns the sums of the blocks before this one and of all blocks. `own`: the sum of this
  /// block. Called by the first warp.
  template <class T>
  [[nodiscard]] __device__ prefix_sum<T> scan_blocks(T own) const noexcept {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const int blocks = static_cast<int>(Blocks::count()), here = static_cast<int>(Blocks::rank());
    m_blocks.give(to_word(own));
    m_blocks.sync();
    prefix_sum<T> sum{T{}, T{}};
    for (int first = 0; first < blocks; first += 32) {
      const T upto =
          sum_upto(first + lane < blocks ? from_word<T>(m_blocks.given(first + lane)) : T{});
      const T before = __shfl_up_sync(~0u, upto, 1);
      const T at_mine = __shfl_sync(~0u, lane == 0 ? T{} : before, (here - first) & 31);
      if (here / 32 == first / 32) sum.before = sum.all + at_mine;
      sum.all += __shfl_sync(~0u, upto, 31);
    }
    return sum;
  }

  block_group m_block;  // the calling thread's block
  Blocks m_blocks;
  int m_first;  // rank of the block's first thread
  int m_size;
};

}  // namespace starling::resident::cuda
