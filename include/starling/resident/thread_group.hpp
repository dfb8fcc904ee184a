// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/reduction.hpp>

namespace starling::resident {

/// The threads that run an entry method: the part of `context` that knows no messages.
template <class Group>
class thread_group {
 public:
  /// Whether this is compiled for a device, for code that has another form there.
  [[nodiscard]] static constexpr bool is_device() noexcept { return Group::is_device; }
  [[nodiscard]] constexpr int rank() const noexcept { return m_group->rank(); }
  [[nodiscard]] constexpr int size() const noexcept { return m_group->size(); }
  /// What every thread wrote before is visible to every thread after.
  constexpr void sync() const noexcept { m_group->sync(); }
  /// Calls f() on one thread; what it wrote is visible to all afterwards.
  template <class F>
  constexpr void once(F&& f) const {
    if (is_leader()) f();
    sync();
  }
  /// Calls f(i) once for each 0 ≤ i < n, spread over the threads, in no order. Not a `sync`.
  template <class F>
  constexpr void for_each(std::uint32_t n, F&& f) const {
    // The last threads have the most: the first one has other things to do.
    for (auto i = std::uint32_t(size() - 1 - rank()); i < n; i += std::uint32_t(size())) f(i);
  }
  /// op over each thread's x, given to all of them; in no order, but in the same for groups of the
  /// same shape. Of arithmetic types, as scan is.
  template <class T, class Op>
  [[nodiscard]] constexpr T reduce(T x, Op op) const {
    return m_group->reduce(x, op);
  }
  /// The sum of the x of all threads with lower ranks, and of all threads.
  template <class T>
  [[nodiscard]] constexpr prefix_sum<T> scan(T x) const {
    return m_group->scan(x);
  }

  // --- hints to caches, which change no result
  /// Asks for the cache line at `from`, which this thread reads soon; nothing where that is of no
  /// use. In memory of this device.
  static constexpr void prefetch(const void* from) noexcept { Group::prefetch(from); }
  /// The same for all of `what`, which begins with a cache line as elements do, by the first
  /// threads, each a line: what many reads one behind the other would wait for comes at once. Not a
  /// `sync`.
  template <class T>
  constexpr void prefetch_all_of(const T& what) const noexcept {
    constexpr std::size_t line = 128;
    const auto* const begin = reinterpret_cast<const std::byte*>(&what);
    for (auto at = std::size_t(rank()) * line; at < sizeof(T); at += std::size_t(size()) * line)
      prefetch(begin + at);
  }
  /// *to = value, in memory of this device, for somebody who reads it so late that caches would
  /// have dropped it: they keep it longer than other data, as far as they hold that much. Of 16
  /// bytes; others, and elsewhere, are just stored.
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
