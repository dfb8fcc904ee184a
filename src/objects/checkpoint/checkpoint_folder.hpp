// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk. A checkpoint is a folder `<path>/checkpoint.000012` with shares of ranks and
// a manifest, which is written last: without it the checkpoint is incomplete and never used. Ranks
// see the same `path`, which then has all shares, or different ones (folder_layout.hpp). Between
// ranks the caller carries messages; this layer has none.
//
//     checkpoint_folder folder(path);
//     // Start of a run, on one rank, before others use the folder:
//     folder.remove_unfinished();
//     // A checkpoint: one rank chooses the number and the stamp and tells all ranks.
//     const share_identity mine{folder.next_number(), random_stamp(), rank, ranks};
//     // Every rank, on the thread of a background_writer, from a copy of its elements:
//     const share_summary share = folder.write_share(mine, [&](share_writer& to) {
//       const auto cells = to.add_array({"cells", "cell", "index_2d", shape, placement, count});
//       for (const auto& [index, state] : copies) to.add_element(cells, index, state);
//     });
//     // One rank, with the summaries of all ranks:
//     folder.complete({mine.number, mine.stamp, step, time_ns, "my run", summaries});
//     folder.remove_older(retention_of({inventory_of(path)}, 2));
//     // One rank, if any rank failed, after all ranks ended their writes:
//     folder.abandon(mine.number);
//
//     // A restart, on each rank of any number of ranks:
//     found_checkpoint found = open_newest(path, checks::index);
//     share_reader share = found.reader->open_share(r);
//     for (const stored_state& s : share.states())
//       if (is_mine(s.array, s.key)) restore(s, share.read(s));
//
// The copy of a share on the partner rank is a file with the same name and bytes: share_copy.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "objects/checkpoint/checkpoint_error.hpp"
#include "objects/checkpoint/file_system.hpp"
#include "objects/checkpoint/inventory.hpp"
#include "objects/checkpoint/manifest.hpp"
#include "objects/checkpoint/share_writer.hpp"

namespace starling::detail {

inline constexpr const char* manifest_name = "manifest";

/// Returns the folder name of a checkpoint, such as `checkpoint.000012`.
[[nodiscard]] std::string checkpoint_name(std::uint64_t number);

/// Returns the numbers of all checkpoints below `path`, complete or not, ascending. None if `path`
/// does not exist. @throws checkpoint_error
[[nodiscard]] std::vector<std::uint64_t> checkpoint_numbers(const std::string& path);

/// Returns a stamp for `share_identity`, random so that files of two checkpoints with the same
/// number are told apart.
[[nodiscard]] std::uint64_t random_stamp();

/// Writes checkpoints below one path. Thread-safe: several ranks may write shares at the same time.
/// One checkpoint is written at a time, under ascending numbers. Only files with names of this
/// format are ever removed.
class checkpoint_folder {
 public:
  explicit checkpoint_folder(std::string path, file_system& files = system_files());

  /// Returns a number above those of all checkpoints, complete or not. @throws checkpoint_error
  [[nodiscard]] std::uint64_t next_number() const;

  /// Writes the share `identity.rank`: returns when it is on disk. Creates the folders. `fill` adds
  /// the records. `also`, if any, gets the bytes of the file in pieces while they are written. On
  /// an error, also of both functions, removes the share and rethrows. The thread must block
  /// SIGXFSZ, as helper threads do; else a limit of file sizes ends the process.
  /// @throws checkpoint_error
  share_summary write_share(const share_identity& identity,
                            const std::function<void(share_writer&)>& fill,
                            const tee_sink::taker& also = {});

  /// Makes the checkpoint complete: writes the manifest. @throws checkpoint_error; then the
  /// checkpoint is removed, as far as the file system permits
  void complete(const manifest& contents);
  /// As above for shares that are worth keeping without it. @throws checkpoint_error; then they
  /// remain
  void put_manifest(const manifest& contents);

  /// Removes the files of an incomplete or complete checkpoint.
  /// @throws checkpoint_error if files of this format remain
  void abandon(std::uint64_t number);

  /// Removes the checkpoints that are older than the rule says, except those of a later version or
  /// another format. With `keeps_spares`, removed shares of a folder in memory are renamed to
  /// spares if the newest checkpoint has a share of the same rank. The next shares overwrite the
  /// spares, as new pages take longer than writes. @throws checkpoint_error
  void remove_older(const retention& rule, bool keeps_spares);
  /// Returns the path for the spare of a share; empty: this folder has none.
  [[nodiscard]] std::string spare_of(std::uint32_t rank) const;
  /// Removes the spares. @throws checkpoint_error
  void remove_spares();

  /// Removes incomplete checkpoints, temporary files and spares. Call it when no rank writes.
  /// @throws checkpoint_error
  void remove_unfinished();

  /// Makes the folder itself, and those above it. @throws checkpoint_error
  void make() { make_folders(m_path); }
  /// Makes the folder of a checkpoint. @throws checkpoint_error
  void make(std::uint64_t number) { make_folders(folder_of(number)); }
  /// Removes the folder itself and its id if it has nothing else.
  void remove_if_empty();
  [[nodiscard]] std::string folder_of(std::uint64_t number) const;

 private:
  void make_folders(const std::string& path);
  /// `successor`: folder of a checkpoint; shares that it has, too, become spares. Empty: none do.
  void remove(std::uint64_t number, const std::string& successor);

  const std::string m_path;
  file_system& m_files;
};

}  // namespace starling::detail
