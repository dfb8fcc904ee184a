// SPDX-License-Identifier: Apache-2.0
// What the folders of all ranks hold, and which checkpoint of it is usable. Except `inventory_of`
// these are pure functions: rank 0 calls them with the inventories of all folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "objects/checkpoint/checkpoint_error.hpp"
#include "objects/checkpoint/manifest.hpp"

namespace starling::detail {

/// A file that is missing or refused.
struct refused_file {
  std::uint32_t share = 0;
  checkpoint_fault fault = checkpoint_fault::io;
  std::string reason;  ///< names the file
  template <class Archive>
  void serialize(Archive& ar) {
    ar(share, fault, reason);
  }
};

/// One checkpoint in one folder.
struct held_checkpoint {
  std::uint64_t number = 0;
  bool is_complete = false;  ///< it has a valid manifest, from which are:
  std::uint64_t stamp = 0;
  std::int64_t time_ns = 0;
  std::uint32_t shares = 0;           ///< of the whole checkpoint
  std::vector<std::uint32_t> held;    ///< shares here, with the right size
  std::vector<refused_file> missing;  ///< shares that should be here
  refused_file refused_manifest;      ///< unless it is complete
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, is_complete, stamp, time_ns, shares, held, missing, refused_manifest);
  }
};

/// The checkpoints in one folder, by ascending number.
using inventory = std::vector<held_checkpoint>;

/// Returns what the folder holds; reads the manifests, and the sizes of the shares.
/// @throws checkpoint_error if the folder cannot be listed
[[nodiscard]] inventory inventory_of(const std::string& folder);

/// A checkpoint as all folders together have it.
struct candidate {
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;
  std::int64_t time_ns = 0;
  std::vector<std::uint32_t> manifests;             ///< folders that have its manifest
  std::vector<std::vector<std::uint32_t>> holders;  ///< for each share the folders that have it
  /// Reasons for which it is not used; empty: no manifest and no share is missing.
  std::vector<refused_file> refused;

  [[nodiscard]] bool is_usable() const { return refused.empty() && !manifests.empty(); }
};

/// Returns the checkpoints, the newest first: by number and, where folders have different
/// checkpoints with the same number (another stamp), by time. Shares of different stamps are never
/// mixed. A number without any valid manifest is one candidate, which is refused.
[[nodiscard]] std::vector<candidate> candidates_of(std::span<const inventory> folders);

/// Returns an error that names a share of a complete checkpoint which is not in a folder although
/// the manifest says so; none if there is none.
[[nodiscard]] std::optional<checkpoint_error> missing_in(std::span<const inventory> folders,
                                                         std::uint64_t number, std::uint64_t stamp);

/// Describes why a checkpoint cannot be used: the shares that are gone, and the folders in which
/// `of`, its manifest, says that they were.
[[nodiscard]] std::string describe_missing(const candidate& which, const manifest& of);

/// Which checkpoints remain.
struct retention {
  std::uint64_t oldest = 0;  ///< those with smaller numbers are removed
  std::uint64_t newest = 0;  ///< so are incomplete ones with smaller numbers than this
  template <class Archive>
  void serialize(Archive& ar) {
    ar(oldest, newest);
  }
};

/// Keeps the `count` newest usable checkpoints, at least 1. Unusable ones do not count.
[[nodiscard]] retention retention_of(std::span<const inventory> folders, std::size_t count);

/// Returns the largest number of a checkpoint, complete or not; 0: there is none.
[[nodiscard]] std::uint64_t largest_number(std::span<const inventory> folders);

}  // namespace starling::detail
