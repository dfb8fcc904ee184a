// SPDX-License-Identifier: Apache-2.0
// Which folders there are, which ranks see them, and which rank keeps copies of which other one.
// Pure functions of what the ranks report.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace starling::detail {

/// A folder as a rank sees it.
struct seen_folder {
  std::uint64_t id = 0;
  std::string path;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(id, path);
  }
};

/// What a rank reports when it has opened its folder.
struct rank_view {
  std::string host;  ///< its name
  std::string boot;  ///< differs between hosts that have the same name
  seen_folder own;
  std::vector<seen_folder> others;  ///< existing ones of other ranks, also of earlier runs
  template <class Archive>
  void serialize(Archive& ar) {
    ar(host, boot, own, others);
  }
};

/// A folder, and the rank that does what is done once for it.
struct known_folder {
  std::uint64_t id = 0;
  int lead = 0;
  bool is_own = false;  ///< of a rank of this run; otherwise what an earlier one has left
  std::string host;
  std::string path;  ///< as the lead sees it
};

struct folder_layout {
  std::vector<known_folder> folders;   ///< first those of ranks, in the order of the ranks
  std::vector<std::uint32_t> of_rank;  ///< each rank's own folder, a place in `folders`
  std::vector<int> partners;           ///< of each rank; -1: there is only one folder

  /// Returns the ranks that see a folder as their own; the lead alone if no rank does.
  [[nodiscard]] std::vector<int> members(std::uint32_t folder) const;
};

/// `views`: of all ranks, in their order.
[[nodiscard]] folder_layout layout_of(std::span<const rank_view> views);

/// Returns for each rank the partner that keeps the copy of its share: a rank with another folder,
/// on another host if there is one. Ranks get equally many copies as far as that allows, and the
/// partner is the next such rank. -1: all ranks have the same folder.
/// `hosts`, `folders`: numbers that are equal for ranks on the same host, with the same folder.
[[nodiscard]] std::vector<int> partners_of(std::span<const std::uint32_t> hosts,
                                           std::span<const std::uint32_t> folders);

/// A copy of a share that is to be made.
struct missing_copy {
  std::uint32_t share = 0;
  std::uint32_t from = 0;  ///< folder that has it
  int to = 0;              ///< rank that gets it, into its own folder
  bool operator==(const missing_copy&) const = default;
};

/// Returns the second copies that a checkpoint lacks after folders were lost: of each share that
/// only one folder has. The rank with the number of the share gets it, or the partner of a rank
/// that has it. `holders`: for each share the folders that have it; `sources`: the one from which
/// it is read.
[[nodiscard]] std::vector<missing_copy> missing_copies(
    const folder_layout& layout, std::span<const std::uint32_t> sources,
    std::span<const std::vector<std::uint32_t>> holders);

}  // namespace starling::detail
