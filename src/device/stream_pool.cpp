// SPDX-License-Identifier: Apache-2.0
#include <starling/device/stream_pool.hpp>

#include <limits>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>

#include "stream_state.hpp"

namespace starling {

stream_pool::stream_pool(device& target, std::size_t size, starling::priority priority,
                         lending policy)
    : m_device(&target), m_priority(priority), m_policy(policy), m_owned(size), m_streams(size) {
  if (size == 0) throw usage_error("a stream pool of no streams");
}

stream stream_pool::acquire() { return stream(open(choose())); }

std::size_t stream_pool::choose() noexcept {
  const std::size_t start = m_next.fetch_add(1, std::memory_order_relaxed) % m_streams.size();
  if (m_policy == lending::round_robin) return start;
  std::size_t best = start;
  int fewest = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < m_streams.size(); ++i) {
    const std::size_t slot = (start + i) % m_streams.size();
    const detail::stream_state* s = m_streams[slot].load(std::memory_order_acquire);
    const int borrowers = s == nullptr ? 1 : s->borrowers();  // the pool's own handle counts
    if (borrowers >= fewest) continue;
    fewest = borrowers;
    best = slot;
    if (fewest <= 1) break;
  }
  return best;
}

detail::stream_state& stream_pool::open(std::size_t slot) {
  if (detail::stream_state* s = m_streams[slot].load(std::memory_order_acquire)) return *s;
  std::lock_guard lock(m_opening);
  if (!m_owned[slot]) {
    m_owned[slot] = m_device->make_stream(m_priority);
    m_streams[slot].store(&m_owned[slot].state(), std::memory_order_release);
  }
  return m_owned[slot].state();
}

std::size_t stream_pool::lent() const noexcept {
  std::size_t sum = 0;
  for (const auto& slot : m_streams)
    if (const detail::stream_state* s = slot.load(std::memory_order_acquire))
      sum += static_cast<std::size_t>(s->borrowers() - 1);
  return sum;
}

}  // namespace starling
