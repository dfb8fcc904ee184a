// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/device/detail/transfer.hpp>
#include <starling/device/kernel.hpp>

namespace starling::detail {

/// What a sequence has recorded: kernels with copies of their objects, and transfers, one record
/// behind the other in a buffer of its own, beyond a few in a pooled block.
///
/// The *shape* of a list is everything but the kernels' members and the transfers' places: lists of
/// one shape have the same records at the same offsets and can be submitted together.
class operation_list {
 public:
  enum class kind : std::uint32_t { kernel, transfer };
  struct alignas(16) record {
    kind what;
    std::uint32_t bytes;  // of the record, and of the object behind it
  };
  struct kernel_record : record {
    kernel_call call;  // its object lies right behind
    [[nodiscard]] const void* object() const noexcept { return this + 1; }
  };
  struct transfer_record : record {
    transfer piece;
  };

  operation_list() noexcept = default;
  /// Both leave the other one empty.
  operation_list(operation_list&& other) noexcept;
  operation_list& operator=(operation_list&& other) noexcept;
  ~operation_list() { release(); }

  /// Copies the object. @throws std::bad_alloc
  void add(const kernel_call& call);
  void add(const transfer& piece);
  /// Keeps no block.
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

  /// Equal for lists of one shape.
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
