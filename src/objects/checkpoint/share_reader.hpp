// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/checkpoint/byte_store.hpp"
#include "objects/checkpoint/share_format.hpp"

namespace starling::detail {

/// A state in a share; `key` points into the index of the reader.
struct stored_state {
  record_kind kind = record_kind::element;
  std::uint32_t array = 0;         ///< of an element: its place in `share_reader::arrays`
  std::span<const std::byte> key;  ///< index bytes of an element, name of a value
  std::uint64_t offset = 0;        ///< in the states of the share
  std::uint64_t size = 0;          ///< bytes
};

/// Takes the next piece of a state; the piece has passed its check and is valid during the call.
using piece_taker = std::function<void(std::span<const std::byte>)>;

/// Reads one share of a checkpoint. The constructor reads header, footer and index only; lengths
/// and counts are compared with the size of the file before memory is allocated. One thread at a
/// time.
class share_reader {
 public:
  /// @throws checkpoint_error if header, footer or index are refused
  explicit share_reader(std::unique_ptr<byte_source> source);

  [[nodiscard]] const std::string& name() const { return m_source->name(); }
  /// Returns where the index begins, in bytes of the file.
  [[nodiscard]] std::uint64_t index_begin() const { return sealed_size + m_data; }
  /// Returns the bytes of the file, from `first` to before `second`, that reading the states in
  /// this range of offsets needs: whole blocks.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> blocks_of(std::uint64_t begin,
                                                                  std::uint64_t end) const;
  [[nodiscard]] const share_identity& identity() const { return m_identity; }
  /// Size, checksum and counts as the manifest should have them.
  [[nodiscard]] const share_summary& summary() const { return m_summary; }
  [[nodiscard]] std::span<const stored_array> arrays() const { return m_arrays; }
  /// States in the order in which they were written.
  [[nodiscard]] std::span<const stored_state> states() const { return m_states; }

  /// Calls `take` with the pieces of `state` in order. Reading states in their order reads each
  /// block of the file once. @throws checkpoint_error if a block is damaged; earlier pieces were
  /// right
  void read(const stored_state& state, const piece_taker& take);
  [[nodiscard]] std::vector<std::byte> read(const stored_state& state);
  /// Reads all states. @throws checkpoint_error if a block is damaged
  void verify();

 private:
  struct lengths;
  [[nodiscard]] lengths read_ends();
  void read_index(const lengths& of);
  [[nodiscard]] std::uint64_t read_record(field_reader& from, std::uint64_t offset);
  void load_block(std::uint64_t number);

  std::unique_ptr<byte_source> m_source;
  share_identity m_identity;
  share_summary m_summary;
  std::uint32_t m_block_size = 0;
  std::uint64_t m_data = 0;
  std::vector<std::byte> m_index;
  std::span<const std::byte> m_block_sums;
  std::vector<stored_array> m_arrays;
  std::vector<stored_state> m_states;
  std::vector<std::byte> m_block;  // the block with the number m_loaded
  std::uint64_t m_loaded = ~std::uint64_t{0};
};

}  // namespace starling::detail
