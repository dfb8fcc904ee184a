// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "objects/checkpoint/byte_store.hpp"
#include "objects/checkpoint/checksum.hpp"
#include "objects/checkpoint/share_format.hpp"

namespace starling::detail {

/// Yields the next piece of a state; an empty piece ends the state. A piece is used until the next
/// call.
using state_pieces = std::function<std::span<const std::byte>()>;

/// Writes one rank's share of a checkpoint to a sink: states as they come, then their index.
/// Memory: the index, 21 bytes and the index bytes of each element. Not thread-safe. After an
/// error the share is unusable.
class share_writer {
 public:
  /// Writes the header. `block` is a power of two from `smallest_block` to `largest_block`.
  /// @throws checkpoint_error of the sink, as all functions below
  share_writer(byte_sink& sink, const share_identity& identity,
               std::uint32_t block = default_block);

  /// Returns the number of the array for `begin_element`. @throws usage_error if the name is taken
  std::uint32_t add_array(const stored_array& array);

  /// Begins the state of an element, which ends at the next `begin_…` or at `finish`.
  /// `index` is the archive of the element's index.
  void begin_element(std::uint32_t array, std::span<const std::byte> index);
  /// Begins the value of a registered global or of read-only data.
  void begin_value(record_kind kind, std::string_view name);
  /// Appends a piece of the state that has begun. @throws usage_error if none has
  void append(std::span<const std::byte> piece);

  void add_element(std::uint32_t array, std::span<const std::byte> index,
                   std::span<const std::byte> state);
  void add_element(std::uint32_t array, std::span<const std::byte> index,
                   const state_pieces& state);
  void add_value(record_kind kind, std::string_view name, std::span<const std::byte> state);

  /// Writes index and footer. Call it once, last.
  [[nodiscard]] share_summary finish();

 private:
  void begin(record_kind kind);
  void end_state();
  void sum(std::span<const std::byte> bytes);

  byte_sink& m_sink;
  const share_identity m_identity;
  const std::uint32_t m_block;
  std::uint64_t m_header_seal = 0;
  field_writer m_index;
  std::vector<std::uint64_t> m_block_sums;
  std::vector<array_count> m_arrays;
  std::uint64_t m_records = 0;
  std::uint64_t m_data = 0;         // bytes of all states so far
  std::uint64_t m_state_begin = 0;  // m_data at the begin of the current state
  bool m_in_state = false;
  checksum m_sum;  // of the current block
};

}  // namespace starling::detail
