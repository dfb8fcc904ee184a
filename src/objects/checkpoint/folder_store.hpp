// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/task.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/folder_layout.hpp"
#include "objects/checkpoint/inventory.hpp"
#include "objects/checkpoint/rank_checkpoints.hpp"

namespace starling::detail {

class folder_store;

/// The checkpoint from which a run restarts, on rank 0.
struct restart_source {
  const folder_store* store = nullptr;
  manifest contents;
  restart_place place;
  std::vector<stored_array> arrays;
  std::vector<stored_value> values;
  std::vector<missing_copy> missing;        // copies that are made again
  std::vector<std::uint32_t> has_manifest;  // folders
};

/// The folders of all ranks under one path, and the checkpoints in them. On rank 0, one task at a
/// time except as noted. Lives as long as its tasks.
class folder_store {
 public:
  /// `pattern`: of the folder of each rank, with placeholders. `keep`: checkpoints that remain;
  /// `copies`: of each share.
  folder_store(std::string pattern, std::size_t keep, std::size_t copies)
      : m_pattern(std::move(pattern)), m_keep(keep), m_copies(copies) {}

  [[nodiscard]] const std::string& pattern() const noexcept { return m_pattern; }
  /// Returns the rank that gets a copy of a rank's share; -1: none. Any thread.
  [[nodiscard]] int partner_of(int rank) const {
    return m_copies > 1 ? m_layout.partners[std::size_t(rank)] : -1;
  }
  /// Whether a folder belongs to both stores.
  [[nodiscard]] bool overlaps(const folder_store& other) const;

  /// Opens the folders of all ranks. @throws checkpoint_error
  [[nodiscard]] task<> open();
  /// Removes what an interrupted run has left, and returns what the folders then hold.
  /// @throws checkpoint_error
  [[nodiscard]] task<std::vector<inventory>> tidy() const;

  /// Checks the checkpoint and reads its values. @throws checkpoint_error if it is not usable
  [[nodiscard]] task<restart_source> read(candidate chosen) const;
  /// Makes second copies of the shares that have lost one; prints a note if it cannot. Another task
  /// may restart the elements at the same time.
  [[nodiscard]] task<> restore_copies(const restart_source& of) const;

  /// Completes a checkpoint whose shares are written: writes the manifest into the folder of each
  /// rank, and removes old checkpoints. @throws checkpoint_error, also if shares are not in the
  /// folders where a restart looks for them
  [[nodiscard]] task<> complete(manifest done) const;
  /// Removes the files of a checkpoint that has failed, as far as possible.
  [[nodiscard]] task<> abandon(std::uint64_t number) const;

 private:
  [[nodiscard]] task<std::vector<inventory>> list() const;
  [[nodiscard]] task<std::vector<inventory>> complete_manifests(std::vector<inventory> found) const;
  [[nodiscard]] task<std::vector<std::uint32_t>> verify(candidate& chosen) const;
  [[nodiscard]] task<> make_copies(const restart_source& of) const;
  [[nodiscard]] task<> remove_old_ones(const manifest& newest) const;
  /// Names the folders in the manifest, unless there is only one.
  void add_folders(manifest& to) const;

  const std::string m_pattern;
  const std::size_t m_keep;
  const std::size_t m_copies;
  folder_layout m_layout;
};

/// Calls `Function(args…)` on all ranks.
template <auto Function, class... Args>
auto on_all_ranks(const Args&... args) {
  std::vector<decltype(async<Function>(rank(0), args...))> calls;
  for (int r = 0; r < rank_count(); ++r) calls.push_back(async<Function>(rank(r), args...));
  return calls;
}

/// Prints a line about checkpoints.
void print_note(const std::string& text);

}  // namespace starling::detail
