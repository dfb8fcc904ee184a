// SPDX-License-Identifier: Apache-2.0
#include "cuda_sharing.hpp"

#include <cstring>

#include <cuda.h>

#include "cuda_driver.hpp"
#include "cuda_error.hpp"

namespace starling::detail {
namespace {

using get_attributes = CUresult(CUDAAPI*)(unsigned int, CUpointer_attribute*, void**, CUdeviceptr);
using get_range = CUresult(CUDAAPI*)(CUdeviceptr*, std::size_t*, CUdeviceptr);

CUdeviceptr as_device(const void* memory) noexcept { return reinterpret_cast<CUdeviceptr>(memory); }

struct owner {
  unsigned int kind = 0;  // 0: not the driver's memory
  int device = -1;
  unsigned long long allocation = 0;
};

/// Finds the owner of `memory` in one driver call.
owner find_owner(const void* memory) noexcept {
  static const auto ask = find_driver_function<get_attributes>("cuPointerGetAttributes", 7000);
  owner found;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void* values[] = {&found.kind, &found.device, &found.allocation};
  if (ask == nullptr || ask(3, which, values, as_device(memory)) != CUDA_SUCCESS) return {};
  return found;
}

}  // namespace

cuda_sharing::~cuda_sharing() {
  static_cast<void>(cudaSetDevice(m_device));
  for (const auto& [name, memory] : m_mapped) static_cast<void>(cudaIpcCloseMemHandle(memory));
  forget_cuda_error();
}

bool cuda_sharing::export_memory(const void* memory, memory_name& name) {
  make_current(m_device);
  const owner by = find_owner(memory);
  if (by.kind != CU_MEMORYTYPE_DEVICE || by.device != m_device || by.allocation == 0) return false;
  const exported found = find_exported(by.allocation, memory);
  name.allocation = by.allocation;
  name.offset = as_device(memory) - found.begin;
  name.reach = found.reach;
  std::memcpy(name.handle.data(), &found.handle, sizeof found.handle);
  return true;
}

cuda_sharing::exported cuda_sharing::find_exported(std::uint64_t allocation, const void* memory) {
  const std::lock_guard guard(m_mutex);
  if (const auto known = m_exported.find(allocation); known != m_exported.end())
    return known->second;
  static const auto ask_range = find_driver_function<get_range>("cuMemGetAddressRange", 3020);
  CUdeviceptr begin = 0;
  exported e{as_device(memory), memory_reach::process, {}};
  if (ask_range != nullptr && ask_range(&begin, nullptr, as_device(memory)) == CUDA_SUCCESS &&
      cudaIpcGetMemHandle(&e.handle, reinterpret_cast<void*>(begin)) == cudaSuccess) {
    e.begin = begin;
    e.reach = memory_reach::host;
  } else {
    forget_cuda_error();  // memory of a pool or of a virtual range has no handle
  }
  m_exported.emplace(allocation, e);
  return e;
}

void* cuda_sharing::map_memory(const memory_name& name) {
  const std::lock_guard guard(m_mutex);
  const auto [place, is_new] = m_mapped.try_emplace({name.process, name.allocation}, nullptr);
  if (!is_new) return place->second;
  try {
    make_current(m_device);
    cudaIpcMemHandle_t handle;
    std::memcpy(&handle, name.handle.data(), sizeof handle);
    check(cudaIpcOpenMemHandle(&place->second, handle, cudaIpcMemLazyEnablePeerAccess),
          "cudaIpcOpenMemHandle");
  } catch (...) {
    m_mapped.erase(place);
    forget_cuda_error();
    throw;
  }
  return place->second;
}

}  // namespace starling::detail
