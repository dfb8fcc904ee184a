// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <new>

#include <cuda_runtime.h>

#include <starling/resident/context.hpp>
#include <starling/resident/detail/program_code.hpp>
#include <starling/resident/detail/ring.hpp>

/// CUDA code of resident programs, for .cu files compiled with --expt-relaxed-constexpr:
///
///     #include <starling/resident/interop/cuda_program.cuh>
///     #include "my_chares.hpp"
///     template struct starling::resident::cuda::instantiate<my_program>;
namespace starling::resident::cuda {

/// A block of threads that runs a scheduler. The same members as `detail::host_group`; the static
/// ones are called by one thread and reach the memory of all devices and of the host.
///
/// What is relaxed says nothing to the compiler of other memory, so that it may keep what it knows
/// of a scheduler: other memory is ordered by the fences and by what acquires and releases.
class block_group {
 public:
  static constexpr bool is_device = true;
  [[nodiscard]] __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int size() const noexcept { return static_cast<int>(blockDim.x); }
  __device__ void sync() const noexcept { __syncthreads(); }
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
    __syncthreads();
    if (warp == 0) {
      x = within(lane < warps ? of_warp[lane] : x, warps);
      if (lane == 0) of_warp[0] = x;
    }
    __syncthreads();
    const T all = of_warp[0];
    __syncthreads();  // before the next one writes there
    return all;
  }

  __device__ static std::uint32_t load_acquire(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
  }
  __device__ static std::uint64_t load_acquire(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
  }
  __device__ static std::uint32_t load(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
  }
  __device__ static std::uint64_t load(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
  }
  /// No acquire, after which the caches would be empty: stores wait for the branch that depends on
  /// this.
  __device__ static std::uint32_t load_credit(const std::uint32_t* from) noexcept {
    return load(from);
  }
  /// From the multiprocessor's own cache, if it is there.
  __device__ static std::uint32_t load_stale(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.relaxed.cta.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
  }
  __device__ static std::uint64_t load_stale(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.relaxed.cta.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
  }
  __device__ static void store_release(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void store_release(std::uint64_t* to, std::uint64_t value) noexcept {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
  __device__ static void store(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  /// Taken by senders of one device, from its own memory.
  [[nodiscard]] __device__ static std::uint32_t take_ticket(std::uint32_t* counter) noexcept {
    std::uint32_t ticket;
    asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(counter));
    return ticket;
  }
  [[nodiscard]] __device__ static std::uint32_t count_up(std::uint32_t* counter) noexcept {
    std::uint32_t before;
    asm volatile("atom.acq_rel.sys.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
  }
  __device__ static void set_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    asm volatile("red.release.sys.or.b64 [%0], %1;" ::"l"(mask), "l"(bits) : "memory");
  }
  __device__ static std::uint64_t clear_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    std::uint64_t before;
    asm volatile("atom.acquire.sys.and.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(mask), "l"(~bits)
                 : "memory");
    return before;
  }
  [[nodiscard]] __device__ static bool set_once(std::uint32_t* flag) noexcept {
    std::uint32_t before;
    asm volatile("atom.relaxed.sys.cas.b32 %0, [%1], 0, 1;" : "=r"(before) : "l"(flag) : "memory");
    return before == 0;
  }

  /// Each unit is one store of 16 bytes, which is seen whole or not at all, so that no order
  /// between them is needed.
  __device__ static void put(detail::slot& to, const detail::message& m, int units,
                             std::uint32_t sequence) noexcept {
    for (int u = 0; u < units; ++u) {
      const detail::unit_words words = detail::words_of(m, u);
      const std::uint64_t low = std::uint64_t(words.word[1]) << 32 | words.word[0];
      store_unit(to.units[u], low, detail::tail_of(words.word[2], sequence));
    }
  }
  [[nodiscard]] __device__ static bool has_come(const detail::slot& from, std::uint32_t sequence,
                                                detail::unit_words& first) noexcept {
    return load_unit(from.units[0], sequence, first);
  }
  /// Waits for nothing: of a message that is there in part, what was read is forgotten.
  [[nodiscard]] __device__ static bool collect(const detail::slot& from, std::uint32_t sequence,
                                               const detail::unit_words& first,
                                               detail::message& m) noexcept {
    const int units = detail::units_of(first);
    detail::set_words(m, 0, first);
    detail::unit_words words;
    for (int u = 1; u < units; ++u) {
      if (!load_unit(from.units[u], sequence, words)) return false;  // on its way still
      detail::set_words(m, u, words);
    }
    return true;
  }

  __device__ static void release_data() noexcept { __threadfence_system(); }
  __device__ static void acquire_data() noexcept { __threadfence_system(); }

  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint64_t host_look_ns = 10'000;  // each takes a thousand
  static constexpr std::uint32_t patience = 64;          // tens of microseconds

  [[nodiscard]] __device__ static std::uint64_t now_ns() noexcept {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }

 private:
  __device__ static void store_unit(detail::unit& to, std::uint64_t low,
                                    std::uint64_t tail) noexcept {
    asm volatile(
        "{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\t"
        "st.relaxed.sys.global.b128 [%0], both;\n\t}" ::"l"(&to),
        "l"(low), "l"(tail));
  }
  [[nodiscard]] __device__ static bool load_unit(const detail::unit& from, std::uint32_t sequence,
                                                 detail::unit_words& words) noexcept {
    std::uint64_t low, tail;
    asm volatile(
        "{\n\t.reg .b128 both;\n\tld.relaxed.sys.global.b128 both, [%2];\n\t"
        "mov.b128 {%0, %1}, both;\n\t}"
        : "=l"(low), "=l"(tail)
        : "l"(&from));
    words = {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
              static_cast<std::uint32_t>(tail)}};
    return static_cast<std::uint32_t>(tail >> 32) == sequence;
  }
};

/// The persistent kernel: a block for each scheduler of a device.
template <class Program>
__global__ void run_schedulers(const __grid_constant__ detail::world w, std::uint32_t device) {
  using scheduler = detail::scheduler<block_group, Program>;
  alignas(16) __shared__ unsigned char memory[sizeof(scheduler)];
  alignas(16) __shared__ unsigned char memory_of_world[sizeof(w)];
  auto& mine = *reinterpret_cast<scheduler*>(memory);
  block_group group;
  if (group.rank() == 0) {
    const auto* const near_world = ::new (memory_of_world) detail::world(w);
    ::new (memory) scheduler(*near_world, device * w.l.schedulers + blockIdx.x);
  }
  group.sync();
  mine.begin(group);
  while (mine.step(group) != detail::work::over) {
  }
  if (group.rank() == 0) mine.end();
}

/// All schedulers wait for each other's messages, so all must be there: a cooperative launch is
/// refused where they do not fit.
template <class Program>
int launch(const detail::world& w, std::uint32_t device, int threads, void* native_stream) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(w.l.schedulers);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = static_cast<cudaStream_t>(native_stream);
  config.attrs = &together;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, run_schedulers<Program>, w, device);
}

template <class Program>
bool enter(detail::program_code::launcher code) noexcept {
  detail::code_of<Program>.launch.store(code, std::memory_order_relaxed);
  return true;
}

/// `template struct starling::resident::cuda::instantiate<Program>;` in a .cu file compiles a
/// program for CUDA devices, for `options::place`. Put the file into the program itself or a shared
/// library.
template <class Program>
struct instantiate {
  static const bool entered;
};
template <class Program>
const bool instantiate<Program>::entered = enter<Program>(&launch<Program>);

}  // namespace starling::resident::cuda
