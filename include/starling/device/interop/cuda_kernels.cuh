// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <starling/device/detail/cuda_code.cuh>
#include <starling/device/detail/cuda_ranges.cuh>
#include <starling/device/kernel.hpp>

/// Compiles portable kernels for CUDA, in .cu files compiled with --expt-relaxed-constexpr:
///
///     #include <starling/device/interop/cuda_kernels.cuh>
///     #include "my_kernels.hpp"
///     template struct starling::cuda::instantiate<my_kernel>;
///
/// The instantiation compiles the kernel for the device and registers it in the launch table before
/// main, so that `stream.submit(range, my_kernel{…})` works on CUDA streams. Put the file into the
/// program itself or a shared library. From a static library the linker would drop the object file,
/// because no symbol of it is referenced.
namespace starling::cuda {

/// A block of threads that runs a group. The same members as `host_group`.
class group {
 public:
  __device__ explicit group(std::size_t scratch_bytes) noexcept : m_bytes(scratch_bytes) {}

  [[nodiscard]] __device__ int size() const noexcept { return static_cast<int>(blockDim.x); }
  [[nodiscard]] __device__ int rank() const noexcept { return static_cast<int>(threadIdx.x); }

  template <class T>
  [[nodiscard]] __device__ T* scratch() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    extern __shared__ __align__(64) unsigned char starling_scratch[];
    return reinterpret_cast<T*>(starling_scratch);
  }
  [[nodiscard]] __device__ std::size_t scratch_bytes() const noexcept { return m_bytes; }

  // Waits for copies only if there were any, because that wait would include other loads.
  __device__ void sync() const noexcept {
    if (m_copies) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
      m_copies = false;
    }
    __syncthreads();
  }

  /// Issues all loads asynchronously, without registers (before sm_80: ordinary loads).
  template <class T>
  __device__ void copy(T* scratch, const T* from, int n) const {
    static_assert(starling::detail::copied_at_once<T>);
    m_copies = true;
    for (int i = rank(); i < n; i += size())
      __pipeline_memcpy_async(scratch + i, from + i, sizeof(T));
  }

  template <class F>
  __device__ void for_each(int n, F&& f) const {
    for (int i = rank(); i < n; i += size()) f(i);
  }

 private:
  std::size_t m_bytes;
  mutable bool m_copies = false;  // this thread has issued copies since the last sync
};

namespace detail {

inline constexpr int default_block_size = 256;
inline constexpr std::size_t free_scratch = 48 * 1024;        // more needs a function attribute
inline constexpr std::size_t largest_kernel = 32 * 1024 - 4;  // parameters since CUDA 12.1
// Most kernels of one launch. Every launch copies the full capacity, whatever the actual number.
inline constexpr std::size_t batch_limit = 64;

/// Returns the most threads of a block: `Kernel::block_size` if declared.
template <class Kernel>
constexpr int block_size_of() noexcept {
  int size = default_block_size;
  if constexpr (requires { Kernel::block_size; }) size = Kernel::block_size;
  return size;
}

/// Returns the most threads of a group: the most of a block, or `Kernel::group_size` if the kernel
/// bounds its registers by `least_blocks`.
template <class Kernel>
constexpr int most_threads_of() noexcept {
  int threads = 1024;
  if constexpr (requires { Kernel::least_blocks; }) threads = Kernel::group_size;
  return threads;
}

/// Returns the number of blocks that must fit on a multiprocessor at once, which bounds the
/// registers of a thread.
template <class Kernel>
constexpr int least_blocks_of() noexcept {
  int blocks = 1;
  if constexpr (requires { Kernel::least_blocks; }) blocks = Kernel::least_blocks;
  return blocks;
}

/// The kernel objects of one launch, as a single parameter.
template <class Kernel>
struct batch {
  static constexpr std::size_t space = largest_kernel - sizeof(range) - 2 * sizeof(std::size_t);
  static constexpr std::size_t capacity =
      std::clamp<std::size_t>(space / sizeof(Kernel), 1, batch_limit);

  [[nodiscard]] __device__ const Kernel& operator[](unsigned i) const noexcept {
    return reinterpret_cast<const Kernel*>(bytes)[i];
  }
  // Bytes, because a kernel need not have a default constructor.
  alignas(Kernel) unsigned char bytes[capacity * sizeof(Kernel)];
};

template <class Kernel>
__device__ __forceinline__ void visit_groups(const Kernel& k, const narrow_range& n,
                                             std::size_t scratch_bytes, unsigned x) {
  group g(scratch_bytes);
  unsigned y = blockIdx.y, z = blockIdx.z;
  for (;;) {
    k(g, index3{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)});
    y += gridDim.y;
    if (y >= static_cast<unsigned>(n.ny)) {
      y = blockIdx.y;
      z += gridDim.z;
    }
    if (z >= static_cast<unsigned>(n.nz)) return;
    g.sync();  // the next group reuses the scratch memory
  }
}

template <class Kernel>
__global__ void __launch_bounds__(block_size_of<Kernel>(), least_blocks_of<Kernel>())
    run_indices(const __grid_constant__ Kernel k, const __grid_constant__ extent_of<Kernel> n) {
  visit_indices(k, n, blockIdx.x, gridDim.x);
}

/// Runs several index kernels in one grid; each has `blocks` blocks in x.
template <class Kernel>
__global__ void __launch_bounds__(block_size_of<Kernel>(), least_blocks_of<Kernel>())
    run_indices_of_many(const __grid_constant__ batch<Kernel> kernels,
                        const __grid_constant__ extent_of<Kernel> n, unsigned blocks) {
  const unsigned member = blockIdx.x / blocks;
  visit_indices(kernels[member], n, blockIdx.x - member * blocks, blocks);
}

template <class Kernel>
__global__ void __launch_bounds__(most_threads_of<Kernel>(), least_blocks_of<Kernel>())
    run_groups(const __grid_constant__ Kernel k, const __grid_constant__ narrow_range n,
               std::size_t scratch_bytes) {
  visit_groups(k, n, scratch_bytes, blockIdx.x);
}

template <class Kernel>
__global__ void __launch_bounds__(most_threads_of<Kernel>(), least_blocks_of<Kernel>())
    run_groups_of_many(const __grid_constant__ batch<Kernel> kernels,
                       const __grid_constant__ narrow_range n, std::size_t scratch_bytes) {
  const unsigned blocks = static_cast<unsigned>(n.nx);
  const unsigned member = blockIdx.x / blocks;
  visit_groups(kernels[member], n, scratch_bytes, blockIdx.x - member * blocks);
}

/// Raises the kernel's scratch memory limit to the most that the current device allows. Every call
/// sets the same value, so that concurrent launches do not undo each other's setting.
template <class Function>
cudaError_t allow_scratch(Function* code) noexcept {
  int device = 0;
  int most = 0;
  cudaFuncAttributes own{};
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess)
    result = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (result == cudaSuccess) result = cudaFuncGetAttributes(&own, code);
  if (result != cudaSuccess) return result;
  return cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(own.sharedSizeBytes));
}

/// Starts `code` with the parameters `values`, with `members` grids side by side in x.
template <class... Parameters>
cudaError_t start(cudaLaunchConfig_t config, unsigned members, void (*code)(Parameters...),
                  const std::type_identity_t<Parameters>&... values) {
  config.gridDim.x *= members;
  if (config.dynamicSmemBytes > free_scratch) {
    const cudaError_t result = allow_scratch(code);
    if (result != cudaSuccess) return result;
  }
  // Passes addresses: the templated launch function would copy the values once more.
  const void* addresses[] = {&values...};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(code),
                             const_cast<void**>(addresses));
}

template <class Kernel>
cudaError_t launch_one(const cudaLaunchConfig_t& config, const starling::detail::kernel_call& call,
                       const void* object) {
  const Kernel& k = *static_cast<const Kernel*>(object);
  if constexpr (index_kernel<Kernel>)
    return start(config, 1, run_indices<Kernel>, k, extent_for<Kernel>(call.extent));
  else
    return start(config, 1, run_groups<Kernel>, k, narrowed(call.extent), call.shape.scratch_bytes);
}

/// Starts the `count` ≤ capacity kernels at `objects` in one launch.
template <class Kernel>
cudaError_t launch_many(const cudaLaunchConfig_t& config, const starling::detail::kernel_call& call,
                        const void* objects, std::size_t count) {
  batch<Kernel> kernels;
  std::memcpy(kernels.bytes, objects, count * sizeof(Kernel));
  const auto members = static_cast<unsigned>(count);
  if constexpr (index_kernel<Kernel>)
    return start(config, members, run_indices_of_many<Kernel>, kernels,
                 extent_for<Kernel>(call.extent), config.gridDim.x);
  else
    return start(config, members, run_groups_of_many<Kernel>, kernels, narrowed(call.extent),
                 call.shape.scratch_bytes);
}

template <class Kernel>
cudaLaunchConfig_t configure(const starling::detail::kernel_call& call, void* native_stream) {
  cudaLaunchConfig_t config{};
  config.stream = static_cast<cudaStream_t>(native_stream);
  if constexpr (index_kernel<Kernel>) {
    config.blockDim = block_for(call.extent, block_size_of<Kernel>());
    config.gridDim = grid_for(call.extent, config.blockDim);
  } else {
    config.blockDim = dim3(static_cast<unsigned>(call.shape.threads));
    config.gridDim = grid_for(call.extent, dim3(1));
    config.dynamicSmemBytes = call.shape.scratch_bytes;
  }
  return config;
}

/// Calls `start_some(first object, count)` until all kernels of `call` are started, each time for
/// as many as fit into one launch.
template <class Kernel, class StartSome>
cudaError_t start_all(const cudaLaunchConfig_t& config, const starling::detail::kernel_call& call,
                      StartSome start_some) {
  static_assert(sizeof(Kernel) + sizeof(range) + sizeof(std::size_t) <= largest_kernel,
                "kernel objects travel as launch parameters: keep big tables in device memory");
  const std::size_t fit =
      std::min<std::size_t>(batch<Kernel>::capacity, grid_limit_x / config.gridDim.x);
  cudaError_t result = cudaSuccess;
  for (std::size_t at = 0; at < call.count && result == cudaSuccess;) {
    const std::size_t now = std::min(fit, call.count - at);
    result = start_some(static_cast<const unsigned char*>(call.object) + at * call.bytes, now);
    if (result == cudaSuccess) call.note_started(at += now);
  }
  return result;
}

/// Starts `call` on a cudaStream_t of the current device. Returns 0 or CUDA's error number. Several
/// kernels share a launch as far as its parameters can hold them; a single kernel has a launch of
/// its own.
template <class Kernel>
int launch(const starling::detail::kernel_call& call, void* native_stream) {
  const cudaLaunchConfig_t config = configure<Kernel>(call, native_stream);
  return start_all<Kernel>(config, call, [&](const void* objects, std::size_t count) {
    if constexpr (batch<Kernel>::capacity > 1)
      if (count > 1) return launch_many<Kernel>(config, call, objects, count);
    return launch_one<Kernel>(config, call, objects);
  });
}

/// Registers a kernel's launcher and its code. Returns true.
template <class Kernel, auto... Code>
bool enter(starling::detail::device_launcher launcher) noexcept {
  return starling::detail::enter<Kernel>(backend_kind::cuda, launcher) &&
         starling::detail::enter_cuda_code<Code...>();
}
template <class Kernel>
bool enter() noexcept {
  if constexpr (index_kernel<Kernel>)
    return enter<Kernel, run_indices<Kernel>, run_indices_of_many<Kernel>>(&launch<Kernel>);
  else
    return enter<Kernel, run_groups<Kernel>, run_groups_of_many<Kernel>>(&launch<Kernel>);
}

}  // namespace detail

/// The parameter of a hand-written kernel, `const __grid_constant__ arguments<Kernel>`: the
/// argument blocks of all submissions that share a launch. Each submission has a sub-grid of its
/// own, as large as its range.
template <class Kernel>
class arguments {
 public:
  /// Returns the argument block of the submission to which the calling thread block belongs.
  [[nodiscard]] __device__ const Kernel& operator*() const noexcept {
    return m_kernels[blockIdx.x / m_blocks];
  }
  [[nodiscard]] __device__ const Kernel* operator->() const noexcept { return &**this; }
  /// Returns the thread block's position in that submission's sub-grid, which replaces blockIdx.
  [[nodiscard]] __device__ uint3 block() const noexcept {
    return {blockIdx.x % m_blocks, blockIdx.y, blockIdx.z};
  }

  arguments(const void* objects, std::size_t count, unsigned blocks) noexcept : m_blocks(blocks) {
    std::memcpy(m_kernels.bytes, objects, count * sizeof(Kernel));
  }

 private:
  detail::batch<Kernel> m_kernels;
  unsigned m_blocks;
};

/// Registers the hand-written kernel `Code` as the CUDA form of the group kernel `Kernel`, by
/// `template struct starling::cuda::instantiate_raw<Kernel, &code>;` in a .cu file. A submission of
/// `Kernel` launches it with a grid equal to the range (y and z at most 65535), and with the
/// threads and scratch bytes (dynamic shared memory) of the group shape. Several submissions may
/// share a launch.
template <group_kernel Kernel, void (*Code)(arguments<Kernel>)>
struct instantiate_raw {
  static const bool entered;
  static int launch(const starling::detail::kernel_call& call, void* native_stream) {
    cudaLaunchConfig_t config = detail::configure<Kernel>(call, native_stream);
    config.gridDim =
        dim3(static_cast<unsigned>(call.extent.nx), static_cast<unsigned>(call.extent.ny),
             static_cast<unsigned>(call.extent.nz));
    return detail::start_all<Kernel>(config, call, [&](const void* objects, std::size_t count) {
      return detail::start(config, static_cast<unsigned>(count), Code,
                           arguments<Kernel>(objects, count, config.gridDim.x));
    });
  }
};
template <group_kernel Kernel, void (*Code)(arguments<Kernel>)>
const bool instantiate_raw<Kernel, Code>::entered =
    detail::enter<Kernel, Code>(&instantiate_raw::launch);

/// Compiles and registers `Kernel` where instantiated explicitly in a .cu file: see above. Optional
/// members of the kernel: `static constexpr int block_size`, the most threads of a block of an
/// index kernel (default 256); `static constexpr int least_blocks`, the number of blocks that must
/// fit on a multiprocessor at once, which bounds the registers of a thread and limits the groups of
/// a group kernel to its `group_size` threads.
template <kernel Kernel>
struct instantiate {
  static const bool entered;
};
template <kernel Kernel>
const bool instantiate<Kernel>::entered = detail::enter<Kernel>();

}  // namespace starling::cuda
