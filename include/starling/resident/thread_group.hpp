// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/reduction.hpp>

namespace starling::resident {

/// The threads that run an entry method together: the part of `context` without messages.
template <class Group>
class thread_group {
 public:
  /// Returns whether the code is compiled for a device, to select device-specific code.
  [[nodiscard]] static constexpr bool is_device() noexcept { return Group::is_device; }
  [[nodiscard]] constexpr int rank() const noexcept { return m_group->rank(); }
  [[nodiscard]] constexpr int size() const noexcept { return m_group->size(); }
  /// Waits for all threads of the group. Writes of all threads before it are visible to all threads
  /// after it.
  constexpr void sync() const noexcept { m_group->sync(); }
  /// Calls f() on one thread, then `sync`: its writes are visible to all threads.
  template <class F>
  constexpr void once(F&& f) const {
    if (is_leader()) f();
    sync();
  }
  /// Calls f(i) once for each 0 ≤ i < n, distributed over the threads, in no order. No `sync`.
  template <class F>
  constexpr void for_each(std::uint32_t n, F&& f) const {
    // The last threads take the remainder: the leader has scheduler work as well.
    for (auto i = std::uint32_t(size() - 1 - rank()); i < n; i += std::uint32_t(size())) f(i);
  }
  /// Returns op over the x of all threads, to all of them. The order of application is unspecified,
  /// but the same for groups of the same shape. For arithmetic types, as for `scan`.
  template <class T, class Op>
  [[nodiscard]] constexpr T reduce(T x, Op op) const {
    return m_group->reduce(x, op);
  }
  /// Returns the sum of the x of all threads with lower ranks, and the sum of all threads.
  template <class T>
  [[nodiscard]] constexpr prefix_sum<T> scan(T x) const {
    return m_group->scan(x);
  }

  // --- cache hints, which change no result
  /// Prefetches the cache line at `from`, in memory of this device. No effect where a prefetch is
  /// of no use, as on the host.
  static constexpr void prefetch(const void* from) noexcept { Group::prefetch(from); }
  /// Prefetches all of `what`, which starts on a cache line, as elements do. Each thread prefetches
  /// every `size()`-th line, so that the lines arrive together instead of one after the other. No
  /// `sync`.
  template <class T>
  constexpr void prefetch_all_of(const T& what) const noexcept {
    constexpr std::size_t line = 128;
    const auto* const begin = reinterpret_cast<const std::byte*>(&what);
    for (auto at = std::size_t(rank()) * line; at < sizeof(T); at += std::size_t(size()) * line)
      prefetch(begin + at);
  }
  /// Stores *to = value, in memory of this device, with a hint to keep it in the L2 cache longer
  /// than other data, as far as its capacity allows: for values that are read much later. The hint
  /// applies to types of 16 bytes on a device; all other stores are plain.
  template <class T>
  static constexpr void store_kept(T* to, const T& value) noexcept {
    Group::store_kept(to, value);
  }

 protected:
  explicit constexpr thread_group(Group& group) noexcept : m_group(&group) {}
  [[nodiscard]] constexpr bool is_leader() const noexcept { return rank() == 0; }
  Group* m_group;
};

}  // namespace starling::resident
