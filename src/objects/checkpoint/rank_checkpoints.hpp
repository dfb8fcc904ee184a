// SPDX-License-Identifier: Apache-2.0
// The part of one rank in checkpoints. Rank 0 calls these functions on each rank by
// starling::async, one after the other: for a restart count_elements, load_arrays and
// start_elements; for each checkpoint copy_states, then write_share or drop_copies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <starling/core/task.hpp>
#include <starling/objects/detail/remote.hpp>

#include "objects/checkpoint/share_format.hpp"
#include "objects/checkpoint/share_transfer.hpp"

namespace starling::detail {

/// A checkpoint that is written.
struct checkpoint_place {
  std::string pattern;  // of the folders
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(pattern, number, stamp);
  }
};

/// The objects of a checkpoint, in the order of their numbers in it: arrays, then read-only values.
struct checkpoint_objects {
  std::vector<object_id> arrays;
  std::vector<object_id> values;

  [[nodiscard]] std::vector<object_id> all() const {
    std::vector<object_id> ids = arrays;
    ids.insert(ids.end(), values.begin(), values.end());
    return ids;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(arrays, values);
  }
};

/// A value of rank 0 in a checkpoint.
struct stored_value {
  record_kind kind = record_kind::global;
  std::string name;
  std::vector<std::byte> bytes;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, name, bytes);
  }
};

struct share_contents {
  checkpoint_place place;
  std::vector<stored_array> arrays;  // in the order of checkpoint_objects
  std::vector<stored_value> values;  // empty except on rank 0
  std::int32_t partner = -1;         // the rank that gets a copy; -1: none

  template <class Archive>
  void serialize(Archive& ar) {
    ar(place, arrays, values, partner);
  }
};

/// Copies the states of this rank's elements. Returns the number of elements of each array. The run
/// is quiescent. @throws usage_error, the exceptions of `serialize`; then there are no copies
task<std::vector<std::uint64_t>> copy_states(checkpoint_objects objects);
/// Writes the copies as this rank's share, and sends it to the partner meanwhile.
/// @throws checkpoint_error
task<share_summary> write_share(share_contents contents);
void drop_copies();

/// Reads which elements are to be made on this rank, and adds them to the reductions. @throws
/// checkpoint_error, archive_error
task<> count_elements(restart_place place, checkpoint_objects objects);
/// Reads the states of these elements and makes them.
task<> load_arrays();
/// Starts `resumed()` of the elements that have waited in `checkpoint()`, and delivers the messages
/// that have waited for the elements.
task<> start_elements();

}  // namespace starling::detail
