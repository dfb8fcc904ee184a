// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>

#include <cuda_runtime.h>
#include <nv/target>

#include <starling/device/detail/cuda_code.cuh>
#include <starling/resident/context.hpp>
#include <starling/resident/detail/program_code.hpp>
#include <starling/resident/detail/step_trace.hpp>
#include <starling/resident/interop/cuda_block_group.cuh>
#include <starling/resident/interop/cuda_cluster_group.cuh>
#include <starling/resident/interop/cuda_device_group.cuh>

/// The CUDA code of resident programs, for .cu files compiled with --expt-relaxed-constexpr:
///
///     #include <starling/resident/interop/cuda_program.cuh>
///     #include "my_chares.hpp"
///     template struct starling::resident::cuda::instantiate<my_program>;
namespace starling::resident::cuda {

/// The service warps of a block, which follow the threads of the group.
enum class service_warp : int { host_watcher, receiver };

/// Runs a service warp of a block until the inbox is closed. The receiver fills the inbox. One
/// thread of the host watcher polls the host's memory, for scheduler 0 only.
template <class Inbox>
__device__ void serve(Inbox& in, service_warp warp, int lane) {
  if (warp == service_warp::receiver) {
    constexpr int looks_at_once = 16;
    typename Inbox::outlook mine;
    in.begin(mine);
    do {
#pragma unroll 1
      for (int n = 0; n < looks_at_once; ++n) static_cast<void>(in.receive(mine));
    } while (__shfl_sync(~0u, int(in.is_closed()), 0) == 0);
    if (lane == 0) in.leave();
  } else if (lane == 0 && in.is_watched()) {
    // Polls at intervals, because fences on this multiprocessor also wait for these loads.
    for (; !in.is_closed(); __nanosleep(4000)) in.watch_host();
  }
}

template <class Program, class Group>
__device__ __forceinline__ void run_scheduler(const detail::world& w, std::uint32_t device) {
  using scheduler = detail::scheduler<Group, Program>;
  alignas(16) __shared__ unsigned char memory[sizeof(scheduler)];
  unsigned char* object = memory;
  // Hides the origin of the address from the compiler, which would otherwise recompute the address
  // for each use, in 100 cycles.
  asm volatile("" : "+l"(object));
  __builtin_assume(__isShared(object));
  auto& mine = *reinterpret_cast<scheduler*>(object);
  Group group(w, device);
  const block_group block;
  if (block.rank() == 0) ::new (object) scheduler(w, device * w.l.schedulers + group.number());
  group.begin();
  if (block.rank() >= block.size()) {
    const int thread = block.rank() - block.size();
    if (group.leads()) serve(mine.core.in, service_warp(thread / 32), thread % 32);
    return;
  }
  mine.begin(group);
  __shared__ alignas(8) unsigned char trace_memory[sizeof(detail::step_trace<Group>)];
  auto& trace = *reinterpret_cast<detail::step_trace<Group>*>(trace_memory);
  const bool is_traced = w.l.trace_records != 0 && group.rank() == 0;
  if (is_traced) ::new (trace_memory) detail::step_trace<Group>(w, mine.core.self());
  for (auto done = detail::work::some; done != detail::work::over;) {
    done = mine.step(group);
    if (is_traced) trace.note(done, mine.core.end.entry());
  }
  if (is_traced) trace.end();
  if (group.rank() == 0) mine.end();
}

/// The persistent kernel of a device: one group of threads for each scheduler.
template <class Program, class Group>
__global__ void run_schedulers(const __grid_constant__ detail::world w, std::uint32_t device) {
  if constexpr (Group::kind == granularity::cluster) {
    // There are no clusters before sm_90; such a launch is refused.
    NV_IF_TARGET(NV_PROVIDES_SM_90, (run_scheduler<Program, Group>(w, device);))
  } else {
    run_scheduler<Program, Group>(w, device);
  }
}

/// A launch of all schedulers of a device. Schedulers wait for each other's messages, so all of
/// them must be resident at once: the launch is cooperative, which CUDA refuses if the blocks do
/// not fit.
class together {
 public:
  together(const detail::world& w, const detail::group_shape& shape, void* native_stream) noexcept {
    m_config.gridDim = dim3(w.l.schedulers * static_cast<unsigned>(shape.blocks));
    m_config.blockDim = dim3(static_cast<unsigned>(shape.threads + device_memory::service_threads));
    m_config.stream = static_cast<cudaStream_t>(native_stream);
    m_config.attrs = m_attributes;
    if (shape.of == granularity::cluster) m_cluster = static_cast<unsigned>(shape.blocks);
  }
  template <class Kernel>
  [[nodiscard]] detail::launch_result run(Kernel* kernel, const detail::world& w,
                                          std::uint32_t device) noexcept {
    if (!fits_partition(kernel, w)) return {cudaErrorCooperativeLaunchTooLarge};
    if (m_cluster != 0) {
      const detail::launch_result refused = ask_for_clusters(kernel, w.l.schedulers);
      if (refused.error != 0) return refused;
    }
    cudaLaunchAttribute& all = m_attributes[m_config.numAttrs++];
    all.id = cudaLaunchAttributeCooperative;
    all.val.cooperative = 1;
    return {cudaLaunchKernelEx(&m_config, kernel, w, device)};
  }

 private:
  /// Returns whether the blocks fit into the multiprocessor partition, if there is one. Checked
  /// here, because CUDA may check a cooperative launch against the whole device.
  template <class Kernel>
  [[nodiscard]] bool fits_partition(Kernel* kernel, const detail::world& w) const noexcept {
    if (w.multiprocessors == 0) return true;
    int blocks = 0;
    const cudaError_t result = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, static_cast<int>(m_config.blockDim.x), 0);
    return result == cudaSuccess && m_config.gridDim.x <= w.multiprocessors * unsigned(blocks);
  }
  /// Sets the cluster size and returns an error if `wanted` clusters do not fit. The number of
  /// clusters that fit depends on the arrangement of the multiprocessors, so it is queried.
  template <class Kernel>
  [[nodiscard]] detail::launch_result ask_for_clusters(Kernel* kernel, std::uint32_t wanted) {
    cudaLaunchAttribute& shape = m_attributes[m_config.numAttrs++];
    shape.id = cudaLaunchAttributeClusterDimension;
    shape.val.clusterDim = {m_cluster, 1, 1};
    if (m_cluster > 8) {  // not portable: some devices allow at most 8
      const auto error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (error != cudaSuccess) return {error};
    }
    int most = 0;
    if (const auto error = cudaOccupancyMaxActiveClusters(&most, kernel, &m_config);
        error != cudaSuccess)
      return {error};
    if (static_cast<std::uint32_t>(most) >= wanted) return {};
    return {cudaErrorCooperativeLaunchTooLarge, most};
  }

  cudaLaunchConfig_t m_config{};
  cudaLaunchAttribute m_attributes[2] = {};
  unsigned m_cluster = 0;  // blocks in a cluster; 0: no clusters
};

template <class Program, class Group>
detail::launch_result launch(const detail::world& w, std::uint32_t device,
                             const detail::group_shape& shape, void* native_stream) {
  return together(w, shape, native_stream).run(run_schedulers<Program, Group>, w, device);
}

template <class Program, class Group>
void enter() noexcept {
  detail::code_of<Program>.launch[static_cast<int>(Group::kind)].store(&launch<Program, Group>,
                                                                       std::memory_order_relaxed);
  starling::detail::enter_cuda_code<run_schedulers<Program, Group>>();
}
template <class Program, class... Groups>
bool enter_all() noexcept {
  if constexpr (sizeof...(Groups) == 0)
    enter<Program, block_group>();
  else
    (enter<Program, Groups>(), ...);
  return true;
}

/// `template struct starling::resident::cuda::instantiate<Program>;` in a .cu file compiles a
/// program for CUDA devices, for `options::place`. Link the file into the executable or a shared
/// library. By default only schedulers that are blocks are compiled. For further values of
/// `options::granularity` list all groups, each of which adds compile time:
/// `instantiate<Program, block_group, cluster_group, device_group>`.
template <class Program, class... Groups>
struct instantiate {
  static const bool entered;
};
template <class Program, class... Groups>
const bool instantiate<Program, Groups...>::entered = enter_all<Program, Groups...>();

}  // namespace starling::resident::cuda
