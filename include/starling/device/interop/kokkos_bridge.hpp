// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <starling/device/recycling_allocator.hpp>
#include <starling/device/types.hpp>

namespace starling {
class device;
class stream;
}  // namespace starling

/// The library functions that the Kokkos interop uses, without Kokkos types. For the Kokkos
/// headers of device/interop, not for users.
namespace starling::kokkos::detail {

/// Work of Serial that runs on the workers.
class host_work {
 public:
  /// Runs the pieces first ≤ i < last, on any worker; other workers may run other pieces at the
  /// same time. The call that completes the last piece fulfils the future.
  virtual void run(std::int64_t first, std::int64_t last) noexcept = 0;
  [[nodiscard]] virtual std::int64_t pieces() const noexcept = 0;

 protected:
  ~host_work() = default;
};

/// Queues `work` after all earlier work of the same instance, on the workers of the calling
/// thread's runtime. @throws usage_error naming `call` outside a runtime
void submit(const void* instance, host_work& work, const char* call);

/// An owned block of a recycling allocator. Move-only.
class memory_block {
 public:
  memory_block() noexcept = default;
  /// Allocates `bytes`. @throws out_of_memory; usage_error when `target` has no memory of `family`
  memory_block(device& target, memory_kind kind, backend_kind family, std::size_t bytes);
  /// As above, freed in the order of `order`.
  memory_block(const stream& order, memory_kind kind, backend_kind family, std::size_t bytes);
  memory_block(memory_block&& other) noexcept
      : m_source(other.m_source), m_order(other.m_order),
        m_data(std::exchange(other.m_data, nullptr)), m_bytes(other.m_bytes) {}
  memory_block& operator=(memory_block&& other) noexcept {
    std::swap(m_source, other.m_source);
    std::swap(m_order, other.m_order);
    std::swap(m_data, other.m_data);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~memory_block() {
    if (m_data != nullptr) m_source->deallocate(m_data, m_bytes, m_order);
  }
  [[nodiscard]] void* data() const noexcept { return m_data; }

 private:
  recycling_allocator* m_source = nullptr;
  starling::detail::stream_state* m_order = nullptr;
  void* m_data = nullptr;
  std::size_t m_bytes = 0;
};

/// Returns the device of the calling worker. @throws usage_error naming `call` outside a runtime
[[nodiscard]] device& device_here(const char* call);
/// Returns the runtime's device at a PCI address. @throws usage_error naming `call` when the
/// runtime has no device there, or outside a runtime
[[nodiscard]] device& device_at(std::string_view bus_id, const char* call);

}  // namespace starling::kokkos::detail
