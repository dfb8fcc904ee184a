// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/share_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <starling/core/error.hpp>

#include "objects/checkpoint/checksum.hpp"

namespace starling::detail {

struct share_reader::lengths {
  std::uint64_t index = 0, records = 0, index_sum = 0;
};

share_reader::share_reader(std::unique_ptr<byte_source> source) : m_source(std::move(source)) {
  read_index(read_ends());
}

share_reader::lengths share_reader::read_ends() {
  const std::string& name = m_source->name();
  const std::uint64_t size = m_source->size();
  if (size < 2 * sealed_size)
    refuse(checkpoint_fault::torn, name, fmt::format("it has {} bytes only", size));
  sealed_block header, footer;
  m_source->read(0, header);
  field_reader first = open_seal(share_magic, header, name);
  m_identity.number = first.get<std::uint64_t>();
  m_identity.stamp = first.get<std::uint64_t>();
  m_identity.rank = first.get<std::uint32_t>();
  m_identity.ranks = first.get<std::uint32_t>();
  m_block_size = first.get<std::uint32_t>();
  m_source->read(size - sealed_size, footer);
  if (!std::ranges::equal(std::span(footer).first(footer_magic.size()), bytes_of(footer_magic)))
    refuse(checkpoint_fault::torn, name, "it ends without a footer");
  field_reader last = open_seal(footer_magic, footer, name);
  m_data = last.get<std::uint64_t>();
  lengths of;
  of.index = last.get<std::uint64_t>();
  of.records = last.get<std::uint64_t>();
  of.index_sum = last.get<std::uint64_t>();
  if (last.get<std::uint64_t>() != seal_of(header))
    refuse(checkpoint_fault::damaged, name, "header and footer are of different files");
  const std::uint64_t inner = size - 2 * sealed_size;
  if (m_data > inner || of.index != inner - m_data)
    refuse(checkpoint_fault::torn, name, "its length is not that of its parts");
  if (!std::has_single_bit(m_block_size) || m_block_size < smallest_block ||
      m_block_size > largest_block || m_identity.rank >= m_identity.ranks)
    refuse(checkpoint_fault::damaged, name, "its header has impossible values");
  m_summary = {m_identity.rank, size, seal_of(footer), {}};
  return of;
}

void share_reader::read_index(const lengths& of) {
  const std::string& name = m_source->name();
  m_index.resize(std::size_t(of.index));
  m_source->read(sealed_size + m_data, m_index);
  if (checksum_of(m_index) != of.index_sum)
    refuse(checkpoint_fault::damaged, name, "the checksum of its index is wrong");
  const std::uint64_t blocks = m_data / m_block_size + (m_data % m_block_size != 0 ? 1 : 0);
  if (blocks > of.index / 8)
    refuse(checkpoint_fault::damaged, name, "its index has too few checksums of blocks");
  const std::size_t sums = std::size_t(8 * blocks);
  m_block_sums = std::span(m_index).last(sums);
  const auto records = std::span(m_index).first(m_index.size() - sums);
  field_reader from(records, name);
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < of.records; ++i) offset = read_record(from, offset);
  if (offset != m_data || from.remaining() != 0)
    refuse(checkpoint_fault::damaged, name, "its index does not fit its states");
}

std::uint64_t share_reader::read_record(field_reader& from, std::uint64_t offset) {
  const std::string& name = m_source->name();
  stored_state state;
  state.kind = record_kind(from.get<std::uint8_t>());
  switch (state.kind) {
    case record_kind::array: {
      stored_array& array = m_arrays.emplace_back();
      array.name = from.get_text();
      array.element_type = from.get_text();
      array.index_type = from.get_text();
      const auto shape = from.get_bytes();
      array.shape.assign(shape.begin(), shape.end());
      const auto placement = from.get_bytes();
      array.placement.assign(placement.begin(), placement.end());
      array.elements = from.get<std::uint64_t>();
      m_summary.arrays.push_back({array.name, 0});
      return offset;
    }
    case record_kind::element:
      state.array = from.get<std::uint32_t>();
      if (state.array >= m_arrays.size())
        refuse(checkpoint_fault::damaged, name, "an element belongs to no array");
      ++m_summary.arrays[state.array].elements;
      break;
    case record_kind::global:
    case record_kind::read_only:
      break;
    default:
      refuse(checkpoint_fault::damaged, name, "its index has a record of an unknown kind");
  }
  state.key = from.get_bytes();
  state.offset = offset;
  state.size = from.get<std::uint64_t>();
  if (state.size > m_data - offset)  // offset is at most m_data: no overflow
    refuse(checkpoint_fault::damaged, name, "its index has longer states than the file");
  m_states.push_back(state);
  return offset + state.size;
}

std::pair<std::uint64_t, std::uint64_t> share_reader::blocks_of(std::uint64_t begin,
                                                                std::uint64_t end) const {
  const std::uint64_t first = begin / m_block_size * m_block_size;
  const std::uint64_t last = (end + m_block_size - 1) / m_block_size * m_block_size;
  return {sealed_size + first, sealed_size + std::min(last, m_data)};
}

void share_reader::load_block(std::uint64_t number) {
  if (number == m_loaded) return;
  const std::uint64_t begin = number * m_block_size;
  m_loaded = ~std::uint64_t{0};
  m_block.resize(std::size_t(std::min<std::uint64_t>(m_block_size, m_data - begin)));
  m_source->read(sealed_size + begin, m_block);
  std::uint64_t expected;
  std::memcpy(&expected, m_block_sums.data() + 8 * number, sizeof expected);
  if (checksum_of(m_block) != expected)
    refuse(checkpoint_fault::damaged, m_source->name(),
           fmt::format("the checksum of its bytes {} to {} is wrong", sealed_size + begin,
                       sealed_size + begin + m_block.size()));
  m_loaded = number;
}

void share_reader::read(const stored_state& state, const piece_taker& take) {
  if (state.offset > m_data || state.size > m_data - state.offset)
    throw usage_error("this state is of another share");
  std::uint64_t at = state.offset;
  const std::uint64_t end = at + state.size;
  while (at < end) {
    load_block(at / m_block_size);
    const std::size_t skip = std::size_t(at % m_block_size);
    const std::size_t size = std::size_t(std::min<std::uint64_t>(m_block.size() - skip, end - at));
    take(std::span(m_block).subspan(skip, size));
    at += size;
  }
}

std::vector<std::byte> share_reader::read(const stored_state& state) {
  std::vector<std::byte> all;
  all.reserve(std::size_t(state.size));  // at most the size of the file
  read(state, [&](std::span<const std::byte> p) { all.insert(all.end(), p.begin(), p.end()); });
  return all;
}

void share_reader::verify() {
  for (std::uint64_t b = 0; b * m_block_size < m_data; ++b) load_block(b);
}

}  // namespace starling::detail
