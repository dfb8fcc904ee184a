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

/// Bytes and counts of a recycling allocator since it was made.
struct allocator_statistics {
  std::size_t in_use = 0;          ///< bytes handed out, as rounded
  std::size_t cached = 0;          ///< bytes kept for reuse
  std::size_t high_water = 0;      ///< most bytes ever taken from the backend at one time
  std::uint64_t hits = 0;          ///< allocations served from the cache
  std::uint64_t misses = 0;        ///< allocations that went to the backend
  std::uint64_t cross_stream = 0;  ///< hits that made a stream wait for another one
};

/// Hands out memory of one kind on one device and keeps what comes back, because asking the driver
/// costs microseconds and may stop the device.
///
/// Sizes are rounded up to one of eight steps per power of two (at most 12.5 % more; above 64 MiB
/// one of 64, 1.6 %), least 256 bytes; all memory is aligned to 64 bytes, device memory to 256.
/// Reuse is ordered by streams: device memory freed on a stream serves that stream again at once,
/// because its next use comes after the last one; other streams, and all users of memory that the
/// host writes directly (host, pinned), get it once the stream has passed that point.
///
/// If the backend or the limit refuses more, the cache is returned to the backend. If that is not
/// enough, device memory not yet passed is reused behind an event, and as a last resort the calling
/// thread waits in place for the streams that use cached blocks. Thread-safe.
class recycling_allocator {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  recycling_allocator(detail::backend_device& source, memory_kind kind, std::string owner);
  /// Returns everything; blocks still in use must not be touched afterwards.
  ~recycling_allocator();
  recycling_allocator(const recycling_allocator&) = delete;
  recycling_allocator& operator=(const recycling_allocator&) = delete;

  /// At least `bytes` (0 gives null), for use on `order`, or anywhere if null.
  /// @throws out_of_memory naming device, kind, request, in use, cached, limit
  [[nodiscard]] void* allocate(std::size_t bytes, detail::stream_state* order = nullptr);
  /// Takes back what `allocate(bytes)` returned. With `order`, work submitted to it so far may
  /// still use the memory; without, nothing may. Needs no memory itself.
  void deallocate(void* memory, std::size_t bytes, detail::stream_state* order = nullptr) noexcept;

  /// Returns cached blocks that no stream uses any more; answers the bytes returned.
  std::size_t trim() noexcept;

  /// Bytes kept at most; what comes back beyond is returned to the backend. Default: no limit.
  /// Answers the limit that it replaces.
  std::size_t set_cache_limit(std::size_t bytes) noexcept;
  /// Bytes taken from the backend at most, in use and cached together; cached blocks beyond are
  /// returned at once as far as no stream uses them. Default: no limit.
  void set_total_limit(std::size_t bytes) noexcept;

  [[nodiscard]] allocator_statistics statistics() const noexcept;
  [[nodiscard]] memory_kind kind() const noexcept { return m_kind; }
  /// What a request of `bytes` takes.
  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept;

 private:
  /// A free block and the point of a stream after which anybody may use it.
  struct block {
    void* memory;
    detail::stream_state* order;  // null: free for all
    std::uint64_t mark;
  };

  /// A block on its way back to the backend, which may take its time: outside the lock.
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
  mutable std::mutex m_lock;  // asking whether a stream has passed may be a driver call
  std::vector<std::vector<block>> m_free;  // by size class; each has room for all of its blocks
  std::vector<std::size_t> m_blocks;       // by size class: free and in use
  allocator_statistics m_statistics;
  std::size_t m_cache_limit = no_limit;
  std::size_t m_total_limit = no_limit;
};

}  // namespace starling
