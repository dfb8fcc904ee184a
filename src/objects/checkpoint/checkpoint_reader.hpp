// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects/checkpoint/manifest.hpp"
#include "objects/checkpoint/share_reader.hpp"

namespace starling::detail {

/// How much of a checkpoint is checked before it is used.
enum class checks {
  sizes,       ///< the manifest, and the sizes of the shares
  index,       ///< also headers, indices and footers of all shares
  everything,  ///< also all states: reads all bytes
};

/// @throws checkpoint_error (`torn`) if the file has another size
void require_size(const byte_source& source, std::uint64_t size);

/// Checks that a share is the one of `rank` in a checkpoint. @throws checkpoint_error
void require_share(const share_reader& reader, const manifest& of, std::uint32_t rank);

/// A complete checkpoint on disk. Each rank of a restart has its own reader, and may read any
/// share; the number of ranks may differ from that of the writers. One thread at a time.
class checkpoint_reader {
 public:
  /// Opens the checkpoint `number` below `path` and reads its manifest.
  /// @throws checkpoint_error if the manifest is refused
  checkpoint_reader(const std::string& path, std::uint64_t number);

  [[nodiscard]] const manifest& contents() const { return m_manifest; }
  /// @throws checkpoint_error if a check fails
  void check(checks depth) const;
  /// Opens the share that `rank` wrote. @throws checkpoint_error if the share is refused, also
  /// (`mismatch`) because it belongs to another checkpoint
  [[nodiscard]] share_reader open_share(std::uint32_t rank) const;
  /// Returns the folder of the checkpoint.
  [[nodiscard]] const std::string& folder() const { return m_folder; }

 private:
  std::string m_folder;
  manifest m_manifest;
};

/// A checkpoint that was not used, and why.
struct refused_checkpoint {
  std::uint64_t number = 0;
  checkpoint_fault fault = checkpoint_fault::io;
  std::string reason;  ///< names the file
};

struct found_checkpoint {
  std::optional<checkpoint_reader> reader;  ///< none if there is no usable checkpoint
  std::vector<refused_checkpoint> refused;  ///< the later ones, newest first
};

/// Returns the newest checkpoint below `path` that passes the checks, and the refused later ones.
/// Checkpoints without a manifest, which were never completed, are among the refused (`torn`).
/// A missing `path` has no checkpoint. @throws checkpoint_error if `path` cannot be listed
[[nodiscard]] found_checkpoint open_newest(const std::string& path,
                                           checks depth = checks::everything);

}  // namespace starling::detail
