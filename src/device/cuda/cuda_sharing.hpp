// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <cuda_runtime_api.h>

#include <starling/device/memory_name.hpp>

namespace starling::detail {

/// The exported allocations of a device, and the mapped allocations of other processes. The driver
/// takes tens of microseconds to export or map an allocation, so the results are kept. Thread-safe.
class cuda_sharing {
 public:
  explicit cuda_sharing(int device) noexcept : m_device(device) {}
  /// Unmaps all allocations. Work on them must be over.
  ~cuda_sharing();
  cuda_sharing(const cuda_sharing&) = delete;
  cuda_sharing& operator=(const cuda_sharing&) = delete;

  /// Fills `name`. Returns false when `memory` is not the device's. @throws device_error
  [[nodiscard]] bool export_memory(const void* memory, memory_name& name);
  /// Maps an allocation unless it is mapped. Returns its first address. @throws device_error
  [[nodiscard]] void* map_memory(const memory_name& name);

 private:
  struct exported {
    std::uint64_t begin;
    memory_reach reach;
    cudaIpcMemHandle_t handle;
  };
  [[nodiscard]] exported find_exported(std::uint64_t allocation, const void* memory);

  int m_device;
  std::mutex m_mutex;
  std::map<std::uint64_t, exported> m_exported;  // by the driver's number of the allocation
  std::map<std::pair<std::uint64_t, std::uint64_t>, void*> m_mapped;  // by process and allocation
};

}  // namespace starling::detail
