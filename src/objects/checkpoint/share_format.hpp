// SPDX-License-Identifier: Apache-2.0
// Terms of the format of shares and manifests; docs/design/0041-checkpoint-files.md has the tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objects/checkpoint/fields.hpp"

namespace starling::detail {

/// Version that this code writes, and the only one that it reads.
inline constexpr std::uint32_t checkpoint_version = 1;

/// Bytes of a sealed block: magic (8), version (4), byte-order mark (4), fields (40), checksum (8).
/// All versions keep this layout, so that a later version is told from a damaged file.
inline constexpr std::size_t sealed_size = 64;
inline constexpr std::size_t sealed_fields = 40;
using sealed_block = std::array<std::byte, sealed_size>;

inline constexpr std::string_view share_magic = "STARSHR\x1a";
inline constexpr std::string_view footer_magic = "STAREND\x1a";
inline constexpr std::string_view manifest_magic = "STARMAN\x1a";

/// States are checked in blocks of this size. A file names its own block size, within the limits.
inline constexpr std::uint32_t default_block = 256 * 1024;
inline constexpr std::uint32_t smallest_block = 64;
inline constexpr std::uint32_t largest_block = 64 * 1024 * 1024;

/// Returns a sealed block with `fields`, which have at most `sealed_fields` bytes.
[[nodiscard]] sealed_block seal(std::string_view magic, const field_writer& fields);

/// Returns a reader of the fields of `block`. @throws checkpoint_error naming `name` if the block
/// is foreign, damaged or newer
[[nodiscard]] field_reader open_seal(std::string_view magic, const sealed_block& block,
                                     const std::string& name);

/// Returns the checksum at the end of a sealed block.
[[nodiscard]] std::uint64_t seal_of(const sealed_block& block);

/// Names the share: which checkpoint, and whose part of it.
struct share_identity {
  std::uint64_t number = 0;  ///< of the checkpoint, as in the name of its folder
  std::uint64_t stamp = 0;   ///< random, the same in all files of one checkpoint
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  bool operator==(const share_identity&) const = default;
};

/// An array as it is stored. Ids of a run are not stored: the name identifies the array.
struct stored_array {
  std::string name;
  std::string element_type;
  std::string index_type;
  std::vector<std::byte> shape;      ///< archive of the shape; empty for sparse arrays
  std::vector<std::byte> placement;  ///< archive of the recipe of the placement
  std::uint64_t elements = 0;        ///< of the whole array, on all ranks
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, element_type, index_type, shape, placement, elements);
  }
  bool operator==(const stored_array&) const = default;
};

enum class record_kind : std::uint8_t { array = 1, element = 2, global = 3, read_only = 4 };

/// Elements of one array in one share.
struct array_count {
  std::string name;
  std::uint64_t elements = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, elements);
  }
  bool operator==(const array_count&) const = default;
};

/// What the manifest records of a share.
struct share_summary {
  std::uint32_t rank = 0;
  std::uint64_t size = 0;      ///< bytes of the file
  std::uint64_t checksum = 0;  ///< seal of the footer, which covers header and index
  std::vector<array_count> arrays;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rank, size, checksum, arrays);
  }
  bool operator==(const share_summary&) const = default;
};

}  // namespace starling::detail
