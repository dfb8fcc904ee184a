// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <starling/device/types.hpp>

namespace starling {

namespace detail {
class backend_device;
class stream_state;
}  // namespace detail

/// Statistics of a recycling allocator since its construction.
struct allocator_statistics {
  std::size_t in_use = 0;          ///< bytes allocated to users, rounded up
  std::size_t cached = 0;          ///< bytes kept for reuse
  std::size_t high_water = 0;      ///< most bytes ever taken from the backend at one time
  std::uint64_t hits = 0;          ///< allocations served from the cache
  std::uint64_t misses = 0;        ///< allocations served by the backend
  std::uint64_t cross_stream = 0;  ///< hits that made a stream wait for another stream
};

/// An allocator of one memory kind of one device that caches freed blocks, because a driver
/// allocation costs microseconds and may stop the device.
///
/// Sizes are rounded up to one of eight steps per power of two (at most 12.5 % more; above 64 MiB
/// one of 64, 1.6 %), least 256 bytes; all memory is aligned to 64 bytes, device memory to 256.
/// Reuse is ordered by streams: device memory freed on a stream may be reused by that stream at
/// once, because stream order puts the new use after the old one. Other streams, and all users of
/// memory that the host writes directly (host, pinned), reuse it after the stream has passed the
/// point at which it was freed.
///
/// If the backend has no memory left or the limit is reached, unused cached blocks are returned to
/// the backend. If that does not suffice, cached device memory that another stream still uses is
/// reused behind an event. As a last resort the calling thread blocks until the streams that use
/// cached blocks have finished. Thread-safe.
class recycling_allocator {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  recycling_allocator(detail::backend_device& source, memory_kind kind, std::string owner);
  /// Returns all cached blocks to the backend. No block may be in use or used afterwards.
  ~recycling_allocator();
  recycling_allocator(const recycling_allocator&) = delete;
  recycling_allocator& operator=(const recycling_allocator&) = delete;

  /// Allocates at least `bytes` (0 gives null), for use on `order`, or by any work if null.
  /// @throws out_of_memory naming device, kind, request, in use, cached, limit
  [[nodiscard]] void* allocate(std::size_t bytes, detail::stream_state* order = nullptr);
  /// Frees a block of `allocate(bytes)`. Work submitted to `order` so far may still use the memory;
  /// without `order` no work may. Allocates no memory itself.
  void deallocate(void* memory, std::size_t bytes, detail::stream_state* order = nullptr) noexcept;

  /// Returns to the backend all cached blocks that no stream uses any more. Returns their bytes.
  std::size_t trim() noexcept;

  /// Limits the cached bytes; unused blocks beyond the limit are returned to the backend. Default:
  /// no limit. Returns the previous limit.
  std::size_t set_cache_limit(std::size_t bytes) noexcept;
  /// Limits the bytes taken from the backend, in use and cached together. Unused cached blocks
  /// beyond the limit are returned at once. Default: no limit.
  void set_total_limit(std::size_t bytes) noexcept;

  [[nodiscard]] allocator_statistics statistics() const noexcept;
  [[nodiscard]] memory_kind kind() const noexcept { return m_kind; }
  /// Returns the size of the block that serves a request of `bytes`.
  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept;

 private:
  /// A free block and the mark of a stream after which any stream may use it.
  struct block {
    void* memory;
    detail::stream_state* order;  // null: any stream may use it now
    std::uint64_t mark;
  };

  /// A block to be returned to the backend, outside the lock because the backend may be slow.
  struct surplus {
    void* memory;
    std::size_t bytes;
  };

  [[nodiscard]] static std::size_t class_of(std::size_t bytes) noexcept;
  [[nodiscard]] static std::size_t bytes_of(std::size_t size_class) noexcept;
  [[nodiscard]] void* take_cached(std::size_t size_class, detail::stream_state* order) noexcept;
  [[nodiscard]] void* take_new(std::size_t size_class);
  [[nodiscard]] void* take_behind_event(std::size_t size_class, detail::stream_state* order);
  [[nodiscard]] void* find(std::size_t size_class, detail::stream_state* order);
  [[nodiscard]] bool wait_for_cached(std::size_t bytes);
  [[nodiscard]] bool reserve(std::size_t size_class);
  void unreserve(std::size_t size_class) noexcept;
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept;
  [[nodiscard]] std::optional<surplus> take_surplus(std::size_t keep) noexcept;
  std::size_t trim_to(std::size_t keep) noexcept;
  [[noreturn]] void refuse(std::size_t bytes) const;

  detail::backend_device* m_source;
  memory_kind m_kind;
  std::string m_owner;
  // Guards the following members. A mutex, because stream_state::has_passed may call the driver.
  mutable std::mutex m_lock;
  std::vector<std::vector<block>> m_free;  // by size class; capacity for all blocks of the class
  std::vector<std::size_t> m_blocks;       // by size class: number of blocks, free and in use
  allocator_statistics m_statistics;
  std::size_t m_cache_limit = no_limit;
  std::size_t m_total_limit = no_limit;
};

}  // namespace starling
