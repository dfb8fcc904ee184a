// SPDX-License-Identifier: Apache-2.0
#include "cuda_device.hpp"

#include <starling/device/detail/cuda_code.cuh>

#include "cuda_error.hpp"
#include "cuda_partition.hpp"

namespace starling::detail {

cuda_device::cuda_device(int number, word_store words)
    : m_shared{number, std::make_shared<cuda_event_pool>(number, cuda_event_pool::timing::disabled),
               std::make_shared<cuda_graph_cache>(), words},
      m_timed_events(std::make_shared<cuda_event_pool>(number, cuda_event_pool::timing::enabled)) {
  make_current(number);
  m_properties = read_cuda_properties(number);
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  m_priority_of[static_cast<int>(priority::high)] = greatest;
  m_priority_of[static_cast<int>(priority::normal)] = least;
}

void* cuda_device::allocate(memory_kind kind, std::size_t bytes) {
  if (kind == memory_kind::host) return allocate_host_memory(bytes);
  make_current(m_shared.device);
  void* memory = nullptr;
  const bool pinned = kind == memory_kind::pinned;
  const cudaError_t result =
      pinned ? cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) : cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    forget_cuda_error();
    return nullptr;
  }
  check(result, pinned ? "cudaHostAlloc" : "cudaMalloc");
  return memory;
}

void cuda_device::deallocate(memory_kind kind, void* memory, std::size_t) noexcept {
  if (kind == memory_kind::host) return deallocate_host_memory(memory);
  const cudaError_t result = kind == memory_kind::pinned ? cudaFreeHost(memory) : cudaFree(memory);
  // Ignored: this call fails only on a lost device, whose error is reported elsewhere.
  if (result != cudaSuccess) forget_cuda_error();
}

void cuda_device::pin(std::span<std::byte> memory) {
  make_current(m_shared.device);
  check(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable),
        "cudaHostRegister");
}

void cuda_device::unpin(std::span<std::byte> memory) noexcept {
  if (cudaHostUnregister(memory.data()) != cudaSuccess) forget_cuda_error();
}

std::unique_ptr<backend_stream> cuda_device::make_stream(const stream_request& r) {
  make_current(m_shared.device);
  const int level = m_priority_of[static_cast<int>(r.priority)];
  cudaStream_t made = nullptr;
  if (r.partition != nullptr)
    made = static_cast<const cuda_partition&>(*r.partition).make_stream(level);
  else
    check(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, level),
          "cudaStreamCreateWithPriority");
  return std::make_unique<cuda_stream>(made, cuda_stream::ownership::owned, m_shared);
}

std::unique_ptr<backend_stream> cuda_device::adopt_stream(void* native, const stream_request&) {
  return std::make_unique<cuda_stream>(static_cast<cudaStream_t>(native),
                                       cuda_stream::ownership::adopted, m_shared);
}

backend_partitions cuda_device::divide(int units) {
  make_current(m_shared.device);
  return divide_cuda_device(m_shared.device, m_properties.name, units);
}

std::shared_ptr<backend_event> cuda_device::make_event() {
  return std::make_shared<cuda_event>(m_shared.events);
}

std::shared_ptr<backend_event> cuda_device::make_timed_event() {
  return std::make_shared<cuda_event>(m_timed_events);
}

void cuda_device::load_kernels() {
  make_current(m_shared.device);
  cuda_code::for_each([](cuda_code::loader load) {
    const cudaError_t result = load();
    // The kernel has no code for this device; a launch reports that.
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorInvalidDeviceFunction)
      return forget_cuda_error();
    check(result, "loading of kernels");
  });
}

bool cuda_device::enable_peer_access(backend_device& other) {
  const int peer = static_cast<cuda_device&>(other).number();
  if (peer == m_shared.device) return true;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, m_shared.device, peer), "cudaDeviceCanAccessPeer");
  if (possible == 0) return false;
  make_current(m_shared.device);
  const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled)
    forget_cuda_error();
  else
    check(result, "cudaDeviceEnablePeerAccess");
  return true;
}

}  // namespace starling::detail
