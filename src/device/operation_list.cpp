// SPDX-License-Identifier: Apache-2.0
#include <starling/device/detail/operation_list.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <starling/core/detail/frame_pool.hpp>

namespace starling::detail {
namespace {

bool matches(const kernel_call& a, const kernel_call& b) noexcept {
  return a.entry == b.entry && a.extent == b.extent && a.shape.threads == b.shape.threads &&
         a.shape.scratch_bytes == b.shape.scratch_bytes && a.bytes == b.bytes;
}

bool matches(const operation_list::record& a, const operation_list::record& b) noexcept {
  using list = operation_list;
  if (a.what != b.what || a.bytes != b.bytes) return false;
  if (a.what == list::kind::kernel)
    return matches(static_cast<const list::kernel_record&>(a).call,
                   static_cast<const list::kernel_record&>(b).call);
  return static_cast<const list::transfer_record&>(a).piece.bytes ==
         static_cast<const list::transfer_record&>(b).piece.bytes;
}

}  // namespace

operation_list::operation_list(operation_list&& other) noexcept
    : m_size(other.m_size), m_capacity(other.m_capacity), m_hash(other.m_hash) {
  if (other.m_data == other.m_inline) {
    std::memcpy(m_inline, other.m_inline, m_size);
  } else {
    m_data = other.m_data;
    other.m_data = other.m_inline;
  }
  other.clear();
}

operation_list& operation_list::operator=(operation_list&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

template <class Record>
Record& operation_list::append(kind what, std::size_t object_bytes) {
  const std::size_t bytes = (sizeof(Record) + object_bytes + 15) / 16 * 16;
  if (m_size + bytes > m_capacity) grow(m_size + bytes);
  auto* made = new (m_data + m_size) Record;
  made->what = what;
  made->bytes = static_cast<std::uint32_t>(bytes);
  m_size += made->bytes;
  return *made;
}

void operation_list::grow(std::size_t least) {
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(least, 2 * m_capacity));
  auto* larger = static_cast<std::byte*>(pool_allocate(block_kind::state, capacity));
  std::memcpy(larger, m_data, m_size);
  release();
  m_data = larger;
  m_capacity = static_cast<std::uint32_t>(capacity);
}

void operation_list::release() noexcept {
  if (m_data != m_inline) pool_deallocate(block_kind::state, m_data, m_capacity);
}

void operation_list::add(const kernel_call& call) {
  kernel_record& made = append<kernel_record>(kind::kernel, call.bytes);
  made.call = call;
  std::memcpy(&made + 1, call.object, call.bytes);
  mix(reinterpret_cast<std::uintptr_t>(call.entry));
  mix(static_cast<std::uint64_t>(call.extent.nx));
  mix(static_cast<std::uint64_t>(call.extent.ny));
  mix(static_cast<std::uint64_t>(call.extent.nz) ^ call.shape.scratch_bytes << 16);
  mix(static_cast<std::uint64_t>(call.shape.threads));
}

void operation_list::add(const transfer& piece) {
  append<transfer_record>(kind::transfer, 0).piece = piece;
  mix(piece.bytes);
}

bool operation_list::has_shape_of(const operation_list& other) const noexcept {
  if (m_hash != other.m_hash || m_size != other.m_size) return false;
  for (std::size_t offset = 0; offset < m_size; offset += at(offset).bytes)
    if (!matches(at(offset), other.at(offset))) return false;
  return true;
}

}  // namespace starling::detail
