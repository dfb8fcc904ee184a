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

/// What the interop with Kokkos needs of the library, in words without Kokkos: for the other
/// headers of it, not for users.
namespace starling::kokkos::detail {

/// Work of Serial on its way to the workers.
class host_work {
 public:
  /// Pieces first ≤ i < last, on any worker; others run the rest at the same time. Who runs the
  /// last one fulfils the future.
  virtual void run(std::int64_t first, std::int64_t last) noexcept = 0;
  [[nodiscard]] virtual std::int64_t pieces() const noexcept = 0;

 protected:
  ~host_work() = default;
};

/// Queues `work` behind everything queued before on the same instance, on the workers of the
/// calling thread's runtime. @throws usage_error naming `call` outside a runtime
void submit(const void* instance, host_work& work, const char* call);

/// Memory of a recycling allocator with an owner. Move-only.
class memory_block {
 public:
  memory_block() noexcept = default;
  /// @throws out_of_memory; usage_error when `where` has no memory of that family
  memory_block(device& where, memory_kind kind, backend_kind family, std::size_t bytes);
  /// Freed in the order of `order`.
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

/// The device of the calling worker. @throws usage_error naming `call` outside a runtime
[[nodiscard]] device& device_here(const char* call);
/// The runtime's device at a PCI address. @throws usage_error naming `call` when there is none
[[nodiscard]] device& device_at(std::string_view bus_id, const char* call);

}  // namespace starling::kokkos::detail
