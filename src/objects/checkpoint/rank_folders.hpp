// SPDX-License-Identifier: Apache-2.0
// The folders of one rank. Rank 0 calls these functions on each rank by starling::async: when
// checkpoints are opened open_folder, use_folders, which gives each folder a lead, a rank that does
// what is done once for it, and tidy_folders.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/detail/object_space.hpp>

#include "objects/checkpoint/folder_layout.hpp"
#include "objects/checkpoint/in_background.hpp"
#include "objects/checkpoint/inventory.hpp"
#include "objects/checkpoint/share_copy.hpp"

namespace starling::detail {

/// A folder, by its place in folder_layout, and its path on the lead.
struct led_folder {
  std::uint32_t folder = 0;
  std::string path;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(folder, path);
  }
};

/// What a rank has to do with the folders of one pattern.
struct folder_duties {
  std::string pattern;  ///< the path that the program has given to `open`
  std::uint32_t own = 0;
  std::vector<led_folder> led;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(pattern, own, led);
  }
};

/// A share in a folder. `folder`: its place in folder_layout.
struct share_address {
  std::string pattern;
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;
  std::uint32_t folder = 0;
  std::uint32_t share = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(pattern, number, stamp, folder, share);
  }
};

/// A manifest that a folder lacks although another one has it.
struct missing_manifest {
  std::uint32_t folder = 0;
  manifest contents;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(folder, contents);
  }
};

/// Service of each rank: its folders, a thread for what other ranks ask, and copies of shares that
/// arrive. Thread-safe.
class rank_folders {
 public:
  explicit rank_folders(runtime& rt);
  rank_folders(const rank_folders&) = delete;
  rank_folders& operator=(const rank_folders&) = delete;
  ~rank_folders();

  void use(folder_duties duties);
  /// Returns the folders of which this rank is the lead. @throws usage_error if `use` was not
  /// called for the pattern
  [[nodiscard]] std::vector<led_folder> led(const std::string& pattern) const;
  [[nodiscard]] std::uint32_t own(const std::string& pattern) const;
  /// Returns the path of this rank's own folder.
  [[nodiscard]] std::string own_path(const std::string& pattern) const;
  /// Returns the path of a folder that this rank sees as its own or leads; empty: neither.
  [[nodiscard]] std::string path_of(const std::string& pattern, std::uint32_t folder) const;

  /// Calls `f()` on the thread. Not the thread that writes and reads this rank's own elements,
  /// which may wait for another rank's call here.
  template <class F>
  [[nodiscard]] auto call(F f) {
    return in_background(*m_thread, m_owner, std::move(f));
  }
  /// Copies of shares that are arriving, by folder pattern, number and rank. On the thread only.
  std::map<std::tuple<std::string, std::uint64_t, std::uint32_t>, share_copy> copies;

 private:
  [[nodiscard]] folder_duties find(const std::string& pattern) const;

  runtime& m_owner;
  mutable std::mutex m_mutex;
  std::map<std::string, folder_duties> m_duties;
  std::optional<background_writer> m_thread{std::in_place};
};

/// Returns the service of the calling worker's rank.
[[nodiscard]] rank_folders& folders_here();

/// Makes this rank's folder, and returns what this rank sees. @throws checkpoint_error
task<rank_view> open_folder(std::string pattern);
/// Returns what the folders hold that this rank leads from now on. @throws checkpoint_error
task<std::vector<inventory>> use_folders(folder_duties duties);
/// Completes checkpoints of folders that this rank leads by the manifests of other folders, removes
/// other incomplete ones, and returns what the folders then hold. @throws checkpoint_error
task<std::vector<inventory>> tidy_folders(std::string pattern,
                                          std::vector<missing_manifest> missing);
/// Returns what the folders that this rank leads hold. @throws checkpoint_error
task<std::vector<inventory>> list_folders(std::string pattern);
/// Returns the manifest of a checkpoint in a folder that this rank leads. @throws checkpoint_error
task<manifest> read_manifest_of(share_address any);
/// Checks all bytes of shares in folders that this rank leads or has; returns the refused ones.
task<std::vector<refused_file>> verify_shares(std::vector<share_address> shares);
/// Writes the manifest into this rank's folder. @throws checkpoint_error
task<> complete_checkpoint(std::string pattern, manifest contents);
/// Removes older checkpoints from the folders that this rank leads, and those folders that earlier
/// runs have left empty. @throws checkpoint_error
task<> remove_older(std::string pattern, retention rule);
/// Drops copies of shares that have not arrived wholly.
task<> drop_arriving(std::string pattern, std::uint64_t number);
/// Removes the files of a checkpoint that has failed from this rank's folder, as far as possible.
task<> abandon_checkpoint(std::string pattern, std::uint64_t number);

}  // namespace starling::detail
