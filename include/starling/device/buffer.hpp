// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/device/recycling_allocator.hpp>
#include <starling/device/stream.hpp>
#include <starling/device/types.hpp>

namespace starling {

/// An owning array of trivially copyable elements, in memory of one kind of one device.
///
/// Elements are uninitialised. Device memory must not be read on the host (there is no operator[];
/// `span()` of host or pinned memory has one). The destructor returns the memory to its recycling
/// allocator. A buffer made for a stream is freed in that stream's order, so it may be destroyed
/// right after the submission that uses it; without a stream it is freed at once. Freed device
/// memory may be reused by the same stream at once; host and pinned memory is reused only after
/// the stream has passed the point of destruction. Must not outlive the runtime. Move-only.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

 public:
  using value_type = T;

  /// An empty buffer.
  buffer() noexcept = default;
  /// Allocates `count` elements from `source`. @throws out_of_memory
  buffer(recycling_allocator& source, std::size_t count, detail::stream_state* order = nullptr)
      : m_source(&source), m_order(order), m_size(count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw out_of_memory("buffer: number of elements times element size overflows");
    m_data = static_cast<T*>(source.allocate(count * sizeof(T), order));
  }
  /// Takes memory as elements of this type. @throws usage_error if its size is no multiple of
  /// theirs
  explicit buffer(buffer<std::byte>&& bytes) requires(!std::is_same_v<T, std::byte>)
      : m_source(bytes.m_source), m_order(bytes.m_order), m_size(bytes.m_size / sizeof(T)) {
    if (bytes.m_size % sizeof(T) != 0)
      throw usage_error("buffer: the size of the memory is no multiple of the element size");
    m_data = reinterpret_cast<T*>(std::exchange(bytes.m_data, nullptr));
    bytes.m_size = 0;
  }
  buffer(buffer&& other) noexcept
      : m_source(other.m_source), m_order(other.m_order),
        m_data(std::exchange(other.m_data, nullptr)), m_size(std::exchange(other.m_size, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~buffer() {
    if (m_data != nullptr) m_source->deallocate(m_data, m_size * sizeof(T), m_order);
  }

  [[nodiscard]] T* data() noexcept { return m_data; }
  [[nodiscard]] const T* data() const noexcept { return m_data; }
  [[nodiscard]] std::size_t size() const noexcept { return m_size; }
  [[nodiscard]] bool empty() const noexcept { return m_size == 0; }
  [[nodiscard]] std::span<T> span() noexcept { return {m_data, m_size}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {m_data, m_size}; }
  [[nodiscard]] T* begin() noexcept { return m_data; }
  [[nodiscard]] T* end() noexcept { return m_data + m_size; }
  [[nodiscard]] const T* begin() const noexcept { return m_data; }
  [[nodiscard]] const T* end() const noexcept { return m_data + m_size; }

  /// Returns the memory kind. Not for a default-constructed buffer.
  [[nodiscard]] memory_kind kind() const noexcept { return m_source->kind(); }

  /// Returns the stream in whose order the memory is freed; null: at once.
  [[nodiscard]] detail::stream_state* order() const noexcept { return m_order; }
  /// Frees the memory in the order of `s` from now on: call it when the last use runs there.
  void release_on(const stream& s) { m_order = &s.state(); }

  void swap(buffer& other) noexcept {
    std::swap(m_source, other.m_source);
    std::swap(m_order, other.m_order);
    std::swap(m_data, other.m_data);
    std::swap(m_size, other.m_size);
  }

 private:
  template <class U>
  friend class buffer;

  recycling_allocator* m_source = nullptr;
  detail::stream_state* m_order = nullptr;
  T* m_data = nullptr;
  std::size_t m_size = 0;
};

}  // namespace starling
