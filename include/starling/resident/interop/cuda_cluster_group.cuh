// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/world.hpp>
#include <starling/resident/granularity.hpp>
#include <starling/resident/interop/cuda_wide_group.cuh>

namespace starling::resident::cuda {

/// The blocks of a `cluster_group`, at most 16, which access each other's shared memory.
///
/// Each block has a barrier in its shared memory, at which all blocks of the cluster arrive: a
/// block arrives at its own barrier with a release at block scope, at the other blocks' barriers
/// with a release at cluster scope. Waiting acquires at cluster scope. Each block has two such
/// barriers, used in turn: a block that has passed one may arrive at the next before all arrivals
/// at the first are visible in all blocks. No block ends before all blocks have arrived at the last
/// barrier; after that, no block accesses another block's memory.
class cluster_blocks {
 public:
  static constexpr granularity kind = granularity::cluster;
  __device__ cluster_blocks(const detail::world&, std::uint32_t) noexcept {}

  [[nodiscard]] __device__ static unsigned rank() noexcept {
    unsigned value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(value));
    return value;
  }
  [[nodiscard]] __device__ static unsigned count() noexcept {
    unsigned value;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(value));
    return value;
  }
  [[nodiscard]] __device__ static unsigned number() noexcept {
    unsigned value;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(value));
    return value;
  }
  /// Called first, by all threads of all blocks: afterwards every block runs and has its barriers.
  __device__ void begin() const noexcept {
    if (threadIdx.x == 0) {
      mine().turn = mine().next_barrier = 0;
      for (auto& barrier : mine().barriers)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&barrier)), "r"(count())
                     : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

  // --- called by the first warp of each block
  __device__ void sync() const noexcept {
    const unsigned lane = threadIdx.x, blocks = count();  // `blocks` is a power of two
    __syncwarp();
    const std::uint32_t which = mine().next_barrier;
    const unsigned barrier = at(&mine().barriers[which]);
    if (lane != 0 && lane < blocks) arrive_at(barrier, (rank() + lane) & (blocks - 1));
    __syncwarp();  // all arrivals are issued before lane 0 waits
    if (lane == 0) {
      mine().next_barrier = which ^ 1;
      wait_for(barrier, arrive(barrier));
    }
    __syncwarp();
  }
  /// Has no effect, because `fetch` reads the leader's object.
  template <class T>
  __device__ void publish(const T&) const noexcept {}
  /// Copies `what` from the same address in the leader's block. Volatile, so that the loads are not
  /// moved before the barrier.
  template <class T>
  __device__ void fetch(T& what) const noexcept {
    const unsigned there = at_block(at(&what), 0);
    for (unsigned i = threadIdx.x; i < words_told<T>; i += 32) {
      std::uint32_t word;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(there + 4 * i) : "memory");
      set_word_of(what, i, word);
    }
  }
  /// Stores this block's word for all blocks. Uses two words in turn: there is a barrier between
  /// the last read of a word and its next store.
  __device__ void give(std::uint64_t word) const noexcept {
    if (threadIdx.x != 0) return;
    mine().turn ^= 1;
    mine().partial[mine().turn] = word;
  }
  [[nodiscard]] __device__ std::uint64_t given(int block) const noexcept {
    std::uint64_t word;
    asm volatile("ld.shared::cluster.u64 %0, [%1];"
                 : "=l"(word)
                 : "r"(at_block(at(&mine().partial[mine().turn]), static_cast<unsigned>(block)))
                 : "memory");
    return word;
  }

 private:
  struct shared_state {
    std::uint64_t barriers[2];
    std::uint64_t partial[2];
    std::uint32_t next_barrier;  // index of the barrier used next
    std::uint32_t turn;          // index of the `partial` used last
  };
  [[nodiscard]] __device__ static shared_state& mine() noexcept {
    __shared__ shared_state here;
    return here;
  }
  [[nodiscard]] __device__ static unsigned at(const void* what) noexcept {
    return static_cast<unsigned>(__cvta_generic_to_shared(what));
  }
  [[nodiscard]] __device__ static unsigned at_block(unsigned here, unsigned block) noexcept {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
    return there;
  }
  __device__ static void arrive_at(unsigned barrier, unsigned block) noexcept {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     at_block(barrier, block))
                 : "memory");
  }
  /// Arrives at the calling block's own barrier and returns the barrier's phase.
  [[nodiscard]] __device__ static std::uint64_t arrive(unsigned barrier) noexcept {
    std::uint64_t phase;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];"
                 : "=l"(phase)
                 : "r"(barrier)
                 : "memory");
    return phase;
  }
  __device__ static void wait_for(unsigned barrier, std::uint64_t phase) noexcept {
    std::uint32_t is_over = 0;
    while (is_over == 0)
      asm volatile(
          "{\n\t.reg .pred over;\n\t"
          "mbarrier.try_wait.acquire.cluster.shared::cta.b64 over, [%1], %2;\n\t"
          "selp.u32 %0, 1, 0, over;\n\t}"
          : "=r"(is_over)
          : "r"(barrier), "l"(phase)
          : "memory");
  }
};

/// The group of the blocks of a cluster, which run one scheduler.
using cluster_group = wide_group<cluster_blocks>;

}  // namespace starling::resident::cuda
