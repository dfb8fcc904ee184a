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
constexpr std::size_t large_bits = 26;   // 64 MiB: larger blocks have finer classes
constexpr std::size_t steps = 8;         // size classes per power of two, below 64 MiB
constexpr std::size_t large_steps = 64;  // size classes per power of two, from 64 MiB on
constexpr std::size_t small_classes = (large_bits - least_bits) * steps;

std::string in_mebibytes(std::size_t bytes) {
  if (bytes == recycling_allocator::no_limit) return "none";
  return std::to_string(bytes) + " B (" + std::to_string(bytes >> 20) + " MiB)";
}

}  // namespace

recycling_allocator::recycling_allocator(detail::backend_device& source, memory_kind kind,
                                         std::string owner)
    : m_source(&source), m_kind(kind), m_owner(std::move(owner)),
      m_free(small_classes + (most_bits - large_bits) * large_steps + 1), m_blocks(m_free.size()) {}

recycling_allocator::~recycling_allocator() {
  for (std::size_t c = 0; c < m_free.size(); ++c)
    for (const block& b : m_free[c]) m_source->deallocate(m_kind, b.memory, bytes_of(c));
}

/// Returns the size class of a request. Class 0 is 256 bytes; class 8 k + s is 2^(8+k) · (1 + s/8)
/// bytes, s = 1 … 8; above 64 MiB the classes continue in the same way with 64 steps.
std::size_t recycling_allocator::class_of(std::size_t bytes) noexcept {
  if (bytes <= std::size_t(1) << least_bits) return 0;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  const bool large = power >= large_bits;
  const std::size_t step = (std::size_t(1) << power) / (large ? large_steps : steps);
  const std::size_t above = bytes - (std::size_t(1) << power);
  const std::size_t below =
      large ? small_classes + (power - large_bits) * large_steps : (power - least_bits) * steps;
  return below + (above + step - 1) / step;
}

std::size_t recycling_allocator::bytes_of(std::size_t size_class) noexcept {
  if (size_class == 0) return std::size_t(1) << least_bits;
  const bool large = size_class > small_classes;
  const std::size_t number = size_class - 1 - (large ? small_classes : 0);
  const std::size_t pieces = large ? large_steps : steps;
  const std::size_t base = std::size_t(1) << ((large ? large_bits : least_bits) + number / pieces);
  return base + (number % pieces + 1) * (base / pieces);
}

std::size_t recycling_allocator::rounded(std::size_t bytes) noexcept {
  return bytes == 0 ? 0 : bytes_of(class_of(bytes));
}

void* recycling_allocator::allocate(std::size_t bytes, detail::stream_state* order) {
  if (bytes == 0) return nullptr;
  if (bytes > std::size_t(1) << most_bits) refuse(bytes);
  const std::size_t c = class_of(bytes);
  if (void* memory = find(c, order)) return memory;
  if (wait_for_cached(bytes_of(c)))
    if (void* memory = find(c, order)) return memory;
  refuse(bytes);
}

void* recycling_allocator::find(std::size_t size_class, detail::stream_state* order) {
  {
    std::lock_guard lock(m_lock);
    if (void* memory = take_cached(size_class, order)) return memory;
  }
  if (void* memory = take_new(size_class)) return memory;
  return take_behind_event(size_class, order);
}

/// Takes the newest block that `order` may use now, or returns null: a block whose stream has
/// passed its mark, or device memory freed on `order` itself.
void* recycling_allocator::take_cached(std::size_t size_class,
                                       detail::stream_state* order) noexcept {
  std::vector<block>& free = m_free[size_class];
  // Device memory only: the host writes to the other kinds without waiting for the stream.
  const bool own_at_once = m_kind == memory_kind::device;
  const auto usable = [=](const block& b) {
    return b.order == nullptr || (own_at_once && b.order == order) || b.order->has_passed(b.mark);
  };
  const auto found = std::find_if(free.rbegin(), free.rend(), usable);
  if (found == free.rend()) return nullptr;
  void* memory = found->memory;
  *found = free.back();
  free.pop_back();
  m_statistics.cached -= bytes_of(size_class);
  m_statistics.in_use += bytes_of(size_class);
  ++m_statistics.hits;
  return memory;
}

/// Returns whether `bytes` more stay within the total limit.
bool recycling_allocator::fits(std::size_t bytes) const noexcept {
  const std::size_t taken = m_statistics.in_use + m_statistics.cached;
  return bytes <= m_total_limit && taken <= m_total_limit - bytes;
}

/// Makes room for a block under the total limit, and in the list of free blocks, so that
/// `deallocate` needs no memory; counts the block as in use. Returns false when there is no room.
/// @throws std::bad_alloc
bool recycling_allocator::reserve(std::size_t size_class) {
  const std::size_t bytes = bytes_of(size_class);
  for (;;) {
    std::size_t keep = 0;
    {
      std::lock_guard lock(m_lock);
      if (fits(bytes)) {
        std::vector<block>& free = m_free[size_class];
        const std::size_t blocks = m_blocks[size_class] + 1;
        if (free.capacity() < blocks) free.reserve(std::max(blocks, 2 * free.capacity()));
        m_blocks[size_class] = blocks;
        m_statistics.in_use += bytes;
        return true;
      }
      keep = m_total_limit - std::min(m_total_limit, m_statistics.in_use + bytes);
    }
    if (trim_to(keep) == 0) return false;
  }
}

/// Undoes `reserve`.
void recycling_allocator::unreserve(std::size_t size_class) noexcept {
  std::lock_guard lock(m_lock);
  --m_blocks[size_class];
  m_statistics.in_use -= bytes_of(size_class);
}

void* recycling_allocator::take_new(std::size_t size_class) {
  if (!reserve(size_class)) return nullptr;
  const std::size_t bytes = bytes_of(size_class);
  void* memory = nullptr;
  try {
    memory = m_source->allocate(m_kind, bytes);
    if (memory == nullptr && trim() != 0) memory = m_source->allocate(m_kind, bytes);
  } catch (...) {
    unreserve(size_class);
    throw;
  }
  if (memory == nullptr) unreserve(size_class);
  std::lock_guard lock(m_lock);
  if (memory != nullptr) ++m_statistics.misses;
  m_statistics.high_water =
      std::max(m_statistics.high_water, m_statistics.in_use + m_statistics.cached);
  return memory;
}

/// Takes a block that another stream still uses, and makes `order` wait for that stream's work on
/// the device.
void* recycling_allocator::take_behind_event(std::size_t size_class, detail::stream_state* order) {
  // Without a stream, or for memory that the host writes, no device work can be made to wait.
  if (order == nullptr || m_kind != memory_kind::device) return nullptr;
  const std::size_t bytes = bytes_of(size_class);
  std::optional<block> found;
  {
    std::lock_guard lock(m_lock);
    std::vector<block>& free = m_free[size_class];
    if (free.empty()) return nullptr;
    found = free.front();  // the block that was freed first
    free.erase(free.begin());
    m_statistics.cached -= bytes;
    m_statistics.in_use += bytes;
  }
  try {
    if (found->order != nullptr && found->order != order)
      order->wait(found->order->record().state(), detail::dependency::order);
  } catch (...) {
    std::lock_guard lock(m_lock);
    m_free[size_class].push_back(*found);
    m_statistics.in_use -= bytes;
    m_statistics.cached += bytes;
    throw;
  }
  std::lock_guard lock(m_lock);
  ++m_statistics.hits;
  ++m_statistics.cross_stream;
  return found->memory;
}

/// Waits for the streams that use cached blocks; called when all other ways to get memory have
/// failed. A block can be freed only when its stream has passed a mark; `finish` requests that mark
/// if that has not been done. Returns false when waiting cannot make room.
bool recycling_allocator::wait_for_cached(std::size_t bytes) {
  std::vector<detail::stream_state*> streams;
  {
    std::lock_guard lock(m_lock);
    const std::size_t room = m_total_limit - std::min(m_total_limit, m_statistics.in_use);
    if (bytes > room) return false;
    for (const std::vector<block>& free : m_free)
      for (const block& b : free)
        if (b.order != nullptr && std::ranges::count(streams, b.order) == 0)
          streams.push_back(b.order);
  }
  for (detail::stream_state* s : streams) {
    try {
      s->finish();
    } catch (const error&) {
      // The stream is in a capture, or its device is lost: its blocks stay cached.
    }
  }
  return !streams.empty();
}

void recycling_allocator::deallocate(void* memory, std::size_t bytes,
                                     detail::stream_state* order) noexcept {
  if (memory == nullptr) return;
  const std::size_t c = class_of(bytes);
  // 0: the stream is idle, so any stream may use the block at once.
  const std::uint64_t mark = order == nullptr ? 0 : order->position();
  {
    std::lock_guard lock(m_lock);
    m_statistics.in_use -= bytes_of(c);
    m_statistics.cached += bytes_of(c);
    m_free[c].push_back({memory, mark == 0 ? nullptr : order, mark});
    if (m_statistics.cached <= m_cache_limit) return;
  }
  trim_to(m_cache_limit);
}

std::size_t recycling_allocator::trim() noexcept { return trim_to(0); }

/// If more than `keep` bytes are cached, removes and returns one of the largest blocks that no
/// stream uses any more.
std::optional<recycling_allocator::surplus> recycling_allocator::take_surplus(
    std::size_t keep) noexcept {
  std::lock_guard lock(m_lock);
  if (m_statistics.cached <= keep) return std::nullopt;
  for (std::size_t c = m_free.size(); c-- > 0;) {
    const auto found = std::ranges::find_if(m_free[c], [](const block& b) {
      return b.order == nullptr || b.order->has_passed(b.mark);
    });
    if (found == m_free[c].end()) continue;
    const surplus taken{found->memory, bytes_of(c)};
    m_free[c].erase(found);
    --m_blocks[c];
    m_statistics.cached -= taken.bytes;
    return taken;
  }
  return std::nullopt;
}

/// Gives blocks back to the backend, largest first, until at most `keep` bytes are cached or
/// streams use all that remain. Returns the bytes given back.
std::size_t recycling_allocator::trim_to(std::size_t keep) noexcept {
  std::size_t returned = 0;
  while (const std::optional<surplus> taken = take_surplus(keep)) {
    m_source->deallocate(m_kind, taken->memory, taken->bytes);
    returned += taken->bytes;
  }
  return returned;
}

std::size_t recycling_allocator::set_cache_limit(std::size_t bytes) noexcept {
  std::size_t before = 0;
  {
    std::lock_guard lock(m_lock);
    before = std::exchange(m_cache_limit, bytes);
  }
  trim_to(bytes);
  return before;
}

void recycling_allocator::set_total_limit(std::size_t bytes) noexcept {
  std::size_t keep = 0;
  {
    std::lock_guard lock(m_lock);
    m_total_limit = bytes;
    keep = bytes - std::min(bytes, m_statistics.in_use);
  }
  trim_to(keep);
}

allocator_statistics recycling_allocator::statistics() const noexcept {
  std::lock_guard lock(m_lock);
  return m_statistics;
}

void recycling_allocator::refuse(std::size_t bytes) const {
  allocator_statistics now;
  std::size_t limit = 0;
  {
    std::lock_guard lock(m_lock);
    now = m_statistics;
    limit = m_total_limit;
  }
  throw out_of_memory(std::string(to_string(m_kind)) + " memory of " + m_owner + ": no room for " +
                      in_mebibytes(bytes) + "; in use " + in_mebibytes(now.in_use) + ", cached " +
                      in_mebibytes(now.cached) + ", limit " + in_mebibytes(limit));
}

}  // namespace starling
