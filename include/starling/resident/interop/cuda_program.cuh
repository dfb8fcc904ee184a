// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <cuda_runtime.h>

#include <starling/resident/context.hpp>
#include <starling/resident/detail/program_code.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/step_trace.hpp>

/// CUDA code of resident programs, for .cu files compiled with --expt-relaxed-constexpr:
///
///     #include <starling/resident/interop/cuda_program.cuh>
///     #include "my_chares.hpp"
///     template struct starling::resident::cuda::instantiate<my_program>;
namespace starling::resident::cuda {

/// A block of threads that runs a scheduler. The same members as `detail::host_group`; the static
/// ones reach the memory of all devices and of the host. One thread calls them, but for what all
/// lanes of the warp that receives call together: `look`, `collect` and what these need.
///
/// What is relaxed says nothing to the compiler of other memory, so that it may keep what it knows
/// of a scheduler: other memory is ordered by the fences and by what acquires and releases.
class block_group {
 public:
  static constexpr bool is_device = true;
  /// Threads of the block behind those of the group: a warp that watches the host, and one that
  /// receives messages. In this order, so that in blocks of 128 that one does not share the
  /// leader's part of the multiprocessor.
  static constexpr int serving = 64;
  static constexpr bool is_served = true;
  [[nodiscard]] __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int size() const noexcept {
    return static_cast<int>(blockDim.x) - serving;
  }
  __device__ void sync() const noexcept {
    asm volatile("bar.sync 1, %0;" ::"r"(size()) : "memory");
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
  /// Relaxed: what was read, and used, is not read later.
  __device__ static void store_credit(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    asm volatile("red.relaxed.sys.or.b64 [%0], %1;" ::"l"(mask), "l"(bits) : "memory");
  }
  /// Relaxed: the fence was there.
  __device__ static void store_fenced(std::uint32_t* to, std::uint32_t value) noexcept {
    store(to, value);
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
  [[nodiscard]] __device__ static int lane() noexcept { return int(threadIdx.x % 32); }
  __device__ static void meet_lanes() noexcept { __syncwarp(); }
  /// Eight lanes read a slot, four slots at once. Waits for nothing: a message that is there in
  /// part is read again later.
  struct some_slots {
    detail::unit_words words;
    bool is_there;

    [[nodiscard]] __device__ bool empty() const noexcept {
      return __any_sync(~0u, lane() == 0 && is_there) == 0;
    }
    template <class Place>
    [[nodiscard]] __device__ std::uint32_t collect(std::uint32_t most, Place place) const noexcept {
      most = __shfl_sync(~0u, most, 0);  // what each has read may differ
      const int which = lane() / 8, u = lane() % 8;
      const detail::unit_words first = {{0, __shfl_sync(~0u, words.word[1], which * 8), 0}};
      const bool is_needed = u == 0 || u < detail::units_of(first);
      const std::uint32_t missing = __ballot_sync(~0u, is_needed && !is_there);
      const std::uint32_t whole = missing == 0 ? 4u : std::uint32_t(__ffs(int(missing)) - 1) / 8;
      const std::uint32_t count = whole < most ? whole : most;
      const bool is_mine = std::uint32_t(which) < count;
      if (is_mine && is_needed) detail::set_words(*place(which), u, words);
      const auto where = detail::payload_place(first.word[1] >> (24 + detail::place_shift) & 7);
      if (__any_sync(~0u, is_mine && detail::is_elsewhere(where)) != 0) acquire_data();
      return count;
    }
  };
  [[nodiscard]] __device__ static some_slots look(const detail::slot* ring, std::uint32_t mask,
                                                  std::uint32_t number) noexcept {
    const std::uint32_t which = number + lane() / 8;
    some_slots found;
    found.is_there = load_unit(ring[which & mask].units[lane() % 8], which + 1, found.words);
    return found;
  }

  __device__ static std::uint32_t load_near(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(near(from)) : "memory");
    return value;
  }
  __device__ static void store_near(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(near(to)), "r"(value) : "memory");
  }

  __device__ static void release_data() noexcept { __threadfence_system(); }
  __device__ static void acquire_data() noexcept { __threadfence_system(); }

  __device__ static void give_way() noexcept { __nanosleep(20); }

  static constexpr std::uint32_t looks_nearby = 16;
  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint32_t patience = 32;  // tens of microseconds

  [[nodiscard]] __device__ static std::uint64_t now_ns() noexcept {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }

 private:
  /// Of what lies in the scheduler: the block's shared memory.
  [[nodiscard]] __device__ static unsigned near(const void* what) noexcept {
    return static_cast<unsigned>(__cvta_generic_to_shared(what));
  }
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

/// What warps do that run no scheduler.
template <class Inbox>
__device__ void serve(Inbox& in, int rank) {
  if (rank >= 32) {
    while (__shfl_sync(~0u, int(in.is_closed()), 0) == 0) static_cast<void>(in.receive());
    if (rank == 32) in.leave();
  } else if (rank == 0 && in.is_watched()) {
    // Not always: fences of this multiprocessor wait for such loads, too.
    for (; !in.is_closed(); __nanosleep(4000)) in.watch_host();
  }
}

/// The persistent kernel: a block for each scheduler of a device.
template <class Program>
__global__ void run_schedulers(const __grid_constant__ detail::world w, std::uint32_t device) {
  using scheduler = detail::scheduler<block_group, Program>;
  alignas(16) __shared__ unsigned char memory[sizeof(scheduler)];
  unsigned char* place = memory;
  // The address, said once: it takes a hundred cycles, and the compiler would find it again and
  // again.
  asm volatile("" : "+l"(place));
  __builtin_assume(__isShared(place));
  auto& mine = *reinterpret_cast<scheduler*>(place);
  block_group group;
  if (group.rank() == 0) ::new (place) scheduler(w, device * w.l.schedulers + blockIdx.x);
  __syncthreads();
  if (group.rank() >= group.size()) return serve(mine.core.in, group.rank() - group.size());
  mine.begin(group);
  __shared__ alignas(8) unsigned char trace_memory[sizeof(detail::step_trace<block_group>)];
  auto& trace = *reinterpret_cast<detail::step_trace<block_group>*>(trace_memory);
  const bool is_traced = w.l.trace_records != 0 && group.rank() == 0;
  if (is_traced) ::new (trace_memory) detail::step_trace<block_group>(w, mine.core.self());
  for (auto done = detail::work::some; done != detail::work::over;) {
    done = mine.step(group);
    if (is_traced) trace.note(done, mine.core.end.entry());
  }
  if (is_traced) trace.end();
  if (group.rank() == 0) mine.end();
}

/// Whether the blocks fit into the part of a device that they get: the launch may compare with the
/// whole device.
template <class Program>
bool fits_part(const detail::world& w, const cudaLaunchConfig_t& config) {
  if (w.multiprocessors == 0) return true;
  int blocks = 0;
  const cudaError_t result = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, run_schedulers<Program>, static_cast<int>(config.blockDim.x), 0);
  return result == cudaSuccess && config.gridDim.x <= w.multiprocessors * unsigned(blocks);
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
  config.blockDim = dim3(static_cast<unsigned>(threads + block_group::serving));
  config.stream = static_cast<cudaStream_t>(native_stream);
  config.attrs = &together;
  config.numAttrs = 1;
  if (!fits_part<Program>(w, config)) return cudaErrorCooperativeLaunchTooLarge;
  return cudaLaunchKernelEx(&config, run_schedulers<Program>, w, device);
}

/// A kernel that is loaded at its first launch may wait until those that run have ended: for ever,
/// beside schedulers. The driver reads this when it begins, which may be in an initialiser of a
/// static object: so before all of those.
__attribute__((constructor(101))) inline void load_all_kernels_early() noexcept {
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
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
