// SPDX-License-Identifier: Apache-2.0
#include <starling/device/recycling_allocator.hpp>

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "backend.hpp"
#include "stream_state.hpp"

namespace starling {
namespace {

constexpr std::size_t least_bits = 8;  // 256 bytes
constexpr std::size_t most_bits = 48;
constexpr std::size_t steps = 8;  // size classes per power of two

std::string in_mebibytes(std::size_t bytes) {
  if (bytes == recycling_allocator::no_limit) return "none";
  return std::to_string(bytes) + " B (" + std::to_string(bytes >> 20) + " MiB)";
}

}  // namespace

recycling_allocator::recycling_allocator(detail::backend_device& source, memory_kind kind,
                                         std::string owner)
    : m_source(&source), m_kind(kind), m_owner(std::move(owner)),
      m_free((most_bits - least_bits) * steps + 1) {}

recycling_allocator::~recycling_allocator() {
  for (std::size_t c = 0; c < m_free.size(); ++c)
    for (const block& b : m_free[c]) m_source->deallocate(m_kind, b.memory, bytes_of(c));
}

/// Class 0 is 256 bytes; class 8 k + s is 2^(8+k) + s/8 of it, s = 1 … 8.
std::size_t recycling_allocator::class_of(std::size_t bytes) noexcept {
  if (bytes <= std::size_t(1) << least_bits) return 0;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  const std::size_t step = (std::size_t(1) << power) / steps;
  const std::size_t above = bytes - (std::size_t(1) << power);
  return (power - least_bits) * steps + (above + step - 1) / step;
}

std::size_t recycling_allocator::bytes_of(std::size_t size_class) noexcept {
  if (size_class == 0) return std::size_t(1) << least_bits;
  const std::size_t base = std::size_t(1) << (least_bits + (size_class - 1) / steps);
  return base + ((size_class - 1) % steps + 1) * (base / steps);
}

std::size_t recycling_allocator::rounded(std::size_t bytes) noexcept {
  return bytes == 0 ? 0 : bytes_of(class_of(bytes));
}

void* recycling_allocator::allocate(std::size_t bytes, detail::stream_state* order) {
  if (bytes == 0) return nullptr;
  if (bytes > std::size_t(1) << most_bits) refuse(bytes);
  const std::size_t c = class_of(bytes);
  {
    std::lock_guard lock(m_lock);
    if (void* memory = take_cached(c, order)) return memory;
  }
  if (void* memory = take_new(bytes_of(c))) return memory;
  if (void* memory = take_behind_event(c, order)) return memory;
  refuse(bytes);
}

/// The newest block that `order` may use now: its own, or one that nobody uses any more.
void* recycling_allocator::take_cached(std::size_t size_class,
                                       detail::stream_state* order) noexcept {
  std::vector<block>& free = m_free[size_class];
  const auto usable = [order](const block& b) {
    return b.order == nullptr || b.order == order || b.order->has_passed(b.mark);
  };
  const auto found = std::find_if(free.rbegin(), free.rend(), usable);
  if (found == free.rend()) return nullptr;
  void* memory = found->memory;
  *found = free.back();
  free.pop_back();
  m_statistics.cached -= bytes_of(size_class);
  ++m_statistics.hits;
  count_taken(bytes_of(size_class));
  return memory;
}

/// Makes room under the total limit and counts the bytes as in use. False: no room.
bool recycling_allocator::reserve(std::size_t bytes) noexcept {
  std::lock_guard lock(m_lock);
  const auto taken = [&] { return m_statistics.in_use + m_statistics.cached; };
  const auto fits = [&] { return bytes <= m_total_limit && taken() <= m_total_limit - bytes; };
  if (!fits()) {
    const std::size_t others = std::min(m_total_limit, m_statistics.in_use + bytes);
    trim_locked(m_total_limit - others);
  }
  if (!fits()) return false;
  count_taken(bytes);
  return true;
}

void* recycling_allocator::take_new(std::size_t bytes) {
  if (!reserve(bytes)) return nullptr;
  void* memory = m_source->allocate(m_kind, bytes);
  if (memory == nullptr) {
    trim();
    memory = m_source->allocate(m_kind, bytes);
  }
  std::lock_guard lock(m_lock);
  if (memory == nullptr)
    m_statistics.in_use -= bytes;
  else
    ++m_statistics.misses;
  m_statistics.high_water =
      std::max(m_statistics.high_water, m_statistics.in_use + m_statistics.cached);
  return memory;
}

/// A block that another stream still uses, behind that stream on the device's own clock.
void* recycling_allocator::take_behind_event(std::size_t size_class, detail::stream_state* order) {
  if (order == nullptr) return nullptr;  // nothing that could be made to wait
  std::optional<block> found;
  {
    std::lock_guard lock(m_lock);
    std::vector<block>& free = m_free[size_class];
    if (free.empty()) return nullptr;
    found = free.front();  // freed longest ago
    free.erase(free.begin());
    m_statistics.cached -= bytes_of(size_class);
    count_taken(bytes_of(size_class));
    ++m_statistics.hits;
    ++m_statistics.cross_stream;
  }
  if (found->order != nullptr && found->order != order)
    order->wait(found->order->record().native());
  return found->memory;
}

void recycling_allocator::deallocate(void* memory, std::size_t bytes,
                                     detail::stream_state* order) noexcept {
  if (memory == nullptr) return;
  const std::size_t c = class_of(bytes);
  // 0: the stream is idle, so the block is anybody's at once.
  const std::uint64_t mark = order == nullptr ? 0 : order->position();
  std::lock_guard lock(m_lock);
  m_statistics.in_use -= bytes_of(c);
  m_statistics.cached += bytes_of(c);
  m_free[c].push_back({memory, mark == 0 ? nullptr : order, mark});
  if (m_statistics.cached > m_cache_limit) trim_locked(m_cache_limit);
}

std::size_t recycling_allocator::trim() noexcept {
  std::lock_guard lock(m_lock);
  return trim_locked(0);
}

/// Returns blocks, largest first, until at most `keep` bytes are cached.
std::size_t recycling_allocator::trim_locked(std::size_t keep) noexcept {
  const std::size_t before = m_statistics.cached;
  for (std::size_t c = m_free.size(); c-- > 0 && m_statistics.cached > keep;)
    std::erase_if(m_free[c], [&](const block& b) {
      if (m_statistics.cached <= keep) return false;
      if (b.order != nullptr && !b.order->has_passed(b.mark)) return false;
      m_source->deallocate(m_kind, b.memory, bytes_of(c));
      m_statistics.cached -= bytes_of(c);
      return true;
    });
  return before - m_statistics.cached;
}

void recycling_allocator::set_cache_limit(std::size_t bytes) noexcept {
  std::lock_guard lock(m_lock);
  m_cache_limit = bytes;
  trim_locked(bytes);
}

void recycling_allocator::set_total_limit(std::size_t bytes) noexcept {
  std::lock_guard lock(m_lock);
  m_total_limit = bytes;
}

allocator_statistics recycling_allocator::statistics() const noexcept {
  std::lock_guard lock(m_lock);
  return m_statistics;
}

void recycling_allocator::count_taken(std::size_t bytes) noexcept { m_statistics.in_use += bytes; }

void recycling_allocator::refuse(std::size_t bytes) const {
  const allocator_statistics now = statistics();
  throw out_of_memory(std::string(to_string(m_kind)) + " memory of " + m_owner + ": no room for " +
                      in_mebibytes(bytes) + "; in use " + in_mebibytes(now.in_use) + ", cached " +
                      in_mebibytes(now.cached) + ", limit " + in_mebibytes(m_total_limit));
}

}  // namespace starling
