// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "objects/checkpoint/byte_store.hpp"
#include "objects/checkpoint/share_format.hpp"

namespace starling::detail {

/// A folder that had shares of a checkpoint when it was complete.
struct share_folder {
  std::uint64_t id = 0;    ///< as in its file `folder.id`
  std::uint32_t rank = 0;  ///< whose folder it was
  std::string host;
  std::string path;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(id, rank, host, path);
  }
  bool operator==(const share_folder&) const = default;
};

/// Contents of a complete checkpoint; written last.
struct manifest {
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;            ///< as in the headers of the shares
  std::uint64_t step = 0;             ///< given by the user
  std::int64_t time_ns = 0;           ///< wall clock, ns since 1970
  std::string run;                    ///< label of the run, given by the user
  std::vector<share_summary> shares;  ///< one for each rank, in the order of the ranks
  /// Folders with shares. Empty: all shares are in the folder of the manifest.
  std::vector<share_folder> folders{};
  /// For each share the places in `folders` of those that have it; empty if `folders` is.
  std::vector<std::vector<std::uint32_t>> holders{};

  /// Whether the folder with this id has to have the share.
  [[nodiscard]] bool is_in(std::uint64_t folder, std::uint32_t share) const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, stamp, step, time_ns, run, shares, folders, holders);
  }
  bool operator==(const manifest&) const = default;
};

/// Returns the file name of a rank's share, such as `share.000003`.
[[nodiscard]] std::string share_name(std::uint32_t rank);

void write_manifest(byte_sink& sink, const manifest& of);

/// @throws checkpoint_error if the manifest is refused
[[nodiscard]] manifest read_manifest(byte_source& source);

}  // namespace starling::detail
