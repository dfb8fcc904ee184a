// SPDX-License-Identifier: Apache-2.0
#include "sycl_device.hpp"

#include <starling/core/error.hpp>

#include "sycl_error.hpp"
#include "sycl_event.hpp"

namespace starling::detail {

sycl_device::sycl_device(const ::sycl::context& where, const ::sycl::device& device, worker& home,
                         tracer& log)
    : m_shared{where,
               device,
               &home,
               device.has(::sycl::aspect::usm_system_allocations),
               device.get_info<::sycl::info::device::max_work_item_sizes<3>>(),
               sycl_compiler(where, device, log)},
      m_has_times(device.has(::sycl::aspect::queue_profiling)) {
  guarded("query of a device", [&] {
    m_properties.name = device.get_info<::sycl::info::device::name>();
    m_properties.memory_bytes = device.get_info<::sycl::info::device::global_mem_size>();
    m_properties.compute_units =
        static_cast<int>(device.get_info<::sycl::info::device::max_compute_units>());
    m_properties.group_scratch_bytes = device.get_info<::sycl::info::device::local_mem_size>();
  });
}

void* sycl_device::allocate(memory_kind kind, std::size_t bytes) {
  if (kind == memory_kind::host) return allocate_host_memory(bytes);
  try {
    if (kind == memory_kind::pinned) return ::sycl::aligned_alloc_host(64, bytes, m_shared.context);
    return ::sycl::aligned_alloc_device(256, bytes, m_shared.device, m_shared.context);
  } catch (const ::sycl::exception& e) {
    if (e.code() == ::sycl::errc::memory_allocation) return nullptr;
    throw make_sycl_error(e, "allocation");
  }
}

void sycl_device::deallocate(memory_kind kind, void* memory, std::size_t) noexcept {
  if (kind == memory_kind::host) return deallocate_host_memory(memory);
  try {
    ::sycl::free(memory, m_shared.context);
  } catch (const ::sycl::exception&) {  // a lost device frees no memory
  }
}

std::unique_ptr<backend_stream> sycl_device::make_stream(const stream_request& r) {
  namespace queue_property = ::sycl::ext::oneapi::property::queue;
  return guarded("making a queue", [&] {
    const ::sycl::property::queue::in_order in_order;
    const ::sycl::property::queue::enable_profiling times;
    const auto with = [&](auto... more) {
      return m_has_times ? ::sycl::property_list{in_order, times, more...}
                         : ::sycl::property_list{in_order, more...};
    };
    const ::sycl::property_list properties =
        r.priority == priority::high ? with(queue_property::priority_high()) : with();
    const starling::sycl::async_errors errors;
    return std::make_unique<sycl_stream>(
        m_shared, ::sycl::queue(m_shared.context, m_shared.device, errors, properties), errors);
  });
}

bool sycl_device::enable_peer_access(backend_device& other) {
  const ::sycl::device& peer = static_cast<sycl_device&>(other).m_shared.device;
  return guarded("peer access", [&] {
    if (!m_shared.device.ext_oneapi_can_access_peer(peer)) return false;
    m_shared.device.ext_oneapi_enable_peer_access(peer);
    return true;
  });
}

}  // namespace starling::detail
