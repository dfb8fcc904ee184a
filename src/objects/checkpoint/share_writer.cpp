// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/share_writer.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <starling/core/error.hpp>

namespace starling::detail {

share_writer::share_writer(byte_sink& sink, const share_identity& identity, std::uint32_t block)
    : m_sink(sink), m_identity(identity), m_block(block) {
  if (!std::has_single_bit(block) || block < smallest_block || block > largest_block)
    throw usage_error(fmt::format("{} bytes are no block size of a checkpoint", block));
  field_writer fields;
  fields.put(identity.number);
  fields.put(identity.stamp);
  fields.put(identity.rank);
  fields.put(identity.ranks);
  fields.put(block);
  const sealed_block header = seal(share_magic, fields);
  m_header_seal = seal_of(header);
  m_sink.write(header);
}

void share_writer::begin(record_kind kind) {
  end_state();
  m_index.put(std::uint8_t(kind));
  ++m_records;
}

void share_writer::end_state() {
  if (m_in_state) m_index.put(m_data - m_state_begin);
  m_in_state = false;
}

std::uint32_t share_writer::add_array(const stored_array& array) {
  for (const array_count& a : m_arrays)
    if (a.name == array.name)
      throw usage_error(fmt::format("two arrays of a checkpoint have the name '{}'", array.name));
  begin(record_kind::array);
  m_index.put_text(array.name);
  m_index.put_text(array.element_type);
  m_index.put_text(array.index_type);
  m_index.put_bytes(array.shape);
  m_index.put_bytes(array.placement);
  m_index.put(array.elements);
  m_arrays.push_back({array.name, 0});
  return std::uint32_t(m_arrays.size() - 1);
}

void share_writer::begin_element(std::uint32_t array, std::span<const std::byte> index) {
  if (array >= m_arrays.size())
    throw usage_error(fmt::format("array {} was not added to the checkpoint", array));
  begin(record_kind::element);
  m_index.put(array);
  m_index.put_bytes(index);
  ++m_arrays[array].elements;
  m_state_begin = m_data;
  m_in_state = true;
}

void share_writer::begin_value(record_kind kind, std::string_view name) {
  if (kind != record_kind::global && kind != record_kind::read_only)
    throw usage_error("a value of a checkpoint is a global or read-only data");
  begin(kind);
  m_index.put_text(name);
  m_state_begin = m_data;
  m_in_state = true;
}

void share_writer::append(std::span<const std::byte> piece) {
  if (!m_in_state) throw usage_error("no state of the checkpoint has begun");
  sum(piece);
  m_sink.write(piece);
}

void share_writer::sum(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t room = m_block - std::size_t(m_data % m_block);
    const auto part = bytes.first(std::min(room, bytes.size()));
    m_sum.add(part);
    m_data += part.size();
    bytes = bytes.subspan(part.size());
    if (part.size() == room) {
      m_block_sums.push_back(m_sum.value());
      m_sum.reset();
    }
  }
}

void share_writer::add_element(std::uint32_t array, std::span<const std::byte> index,
                               std::span<const std::byte> state) {
  begin_element(array, index);
  append(state);
}

void share_writer::add_element(std::uint32_t array, std::span<const std::byte> index,
                               const state_pieces& state) {
  begin_element(array, index);
  for (auto piece = state(); !piece.empty(); piece = state()) append(piece);
}

void share_writer::add_value(record_kind kind, std::string_view name,
                             std::span<const std::byte> state) {
  begin_value(kind, name);
  append(state);
}

share_summary share_writer::finish() {
  end_state();
  if (m_data % m_block != 0) m_block_sums.push_back(m_sum.value());
  checksum index;
  index.add(m_index.bytes());
  index.add(std::as_bytes(std::span(m_block_sums)));
  const std::uint64_t index_size = m_index.bytes().size() + 8 * m_block_sums.size();
  field_writer fields;
  fields.put(m_data);
  fields.put(index_size);
  fields.put(m_records);
  fields.put(index.value());
  fields.put(m_header_seal);
  const sealed_block footer = seal(footer_magic, fields);
  m_sink.write(m_index.bytes());
  m_sink.write(std::as_bytes(std::span(m_block_sums)));
  m_sink.write(footer);
  return {m_identity.rank, 2 * sealed_size + m_data + index_size, seal_of(footer),
          std::move(m_arrays)};
}

}  // namespace starling::detail
