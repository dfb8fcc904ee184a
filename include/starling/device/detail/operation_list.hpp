// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/device/detail/transfer.hpp>
#include <starling/device/kernel.hpp>

namespace starling::detail {

/// The recorded operations of a sequence: kernels with copies of their objects, and transfers. The
/// records are contiguous, in an inline buffer or, beyond its size, in a pooled block.
///
/// The *shape* of a list is all its data except the contents of the kernel objects and the
/// addresses of the transfers. Lists of one shape have the same records at the same offsets and can
/// be submitted together.
class operation_list {
 public:
  enum class kind : std::uint32_t { kernel, transfer };
  struct alignas(16) record {
    kind what;
    std::uint32_t bytes;  // size of the record, including a kernel object after it
  };
  struct kernel_record : record {
    kernel_call call;  // the kernel object follows the record
    [[nodiscard]] const void* object() const noexcept { return this + 1; }
  };
  struct transfer_record : record {
    transfer piece;
  };

  operation_list() noexcept = default;
  /// Moving leaves `other` empty.
  operation_list(operation_list&& other) noexcept;
  operation_list& operator=(operation_list&& other) noexcept;
  ~operation_list() { release(); }

  /// Appends a record; of a kernel it copies the object. @throws std::bad_alloc
  void add(const kernel_call& call);
  void add(const transfer& piece);
  /// Removes all records and releases the pooled block.
  void clear() noexcept {
    release();
    m_data = m_inline;
    m_capacity = inline_bytes;
    m_size = 0;
    m_hash = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return m_size == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return m_size; }  ///< bytes of all records
  [[nodiscard]] const record& at(std::size_t offset) const noexcept {
    return *reinterpret_cast<const record*>(m_data + offset);
  }

  /// Returns a hash of the shape.
  [[nodiscard]] std::uint64_t hash() const noexcept { return m_hash; }
  [[nodiscard]] bool has_shape_of(const operation_list& other) const noexcept;

 private:
  static constexpr std::uint32_t inline_bytes = 256;
  template <class Record>
  Record& append(kind what, std::size_t object_bytes);
  void grow(std::size_t least);
  void mix(std::uint64_t value) noexcept {
    m_hash = (m_hash ^ value) * 0x9e3779b97f4a7c15u;
    m_hash ^= m_hash >> 29;
  }
  void release() noexcept;

  std::byte* m_data = m_inline;
  std::uint32_t m_size = 0;
  std::uint32_t m_capacity = inline_bytes;
  std::uint64_t m_hash = 0;
  alignas(16) std::byte m_inline[inline_bytes];
};

}  // namespace starling::detail
