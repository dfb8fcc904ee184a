// SPDX-License-Identifier: Apache-2.0
#include "sycl_arguments.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <starling/core/error.hpp>

#include "sycl_event.hpp"

namespace starling::detail {

namespace {
constexpr std::size_t alignment = 64;
constexpr std::size_t usual_slab = 64 * 1024;
}  // namespace

sycl_arguments::~sycl_arguments() {
  for (const slab& s : m_slabs) ::sycl::free(s.memory, m_queue);
}

const void* sycl_arguments::keep(const void* objects, std::size_t bytes) {
  const std::size_t room = (bytes + alignment - 1) / alignment * alignment;
  if (m_slabs.empty() || m_slabs.back().size - m_used < room) turn_over(room);
  std::byte* const place = m_slabs.back().memory + m_used;
  m_used += room;
  std::memcpy(place, objects, bytes);
  return place;
}

/// Leaves the full slab and makes a slab with room for `bytes` the last slab.
void sycl_arguments::turn_over(std::size_t bytes) {
  if (!m_slabs.empty()) m_slabs.back().left = m_queue.ext_oneapi_submit_barrier();
  const auto free = std::ranges::find_if(
      m_slabs, [bytes](const slab& s) { return s.size >= bytes && is_over(s.left); });
  if (free != m_slabs.end()) {
    std::swap(*free, m_slabs.back());
    m_used = 0;
    return;
  }
  m_slabs.reserve(m_slabs.size() + 1);  // so that the memory allocated below is not lost
  const std::size_t size = std::max(bytes, usual_slab);
  auto* const memory =
      static_cast<std::byte*>(::sycl::aligned_alloc_host(alignment, size, m_queue));
  if (memory == nullptr)
    throw out_of_memory("no memory for " + std::to_string(size) +
                        " bytes of kernel arguments that the SYCL device can read");
  m_slabs.push_back({memory, size, {}});
  m_used = 0;  // set last: after a failure above, the old slab stays in use
}

}  // namespace starling::detail
