// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <starling/device/aggregator.hpp>
#include <starling/device/detail/completion.hpp>

#include "backend.hpp"
#include "device_times.hpp"

namespace starling::detail {

class collector;
struct pumped_stream;

/// A member's place in its batch, and its observer when the member is submitted alone.
struct batch_place final : member_observer {
  batch_place(const collector& home, batch_member& m) noexcept : owner(&home), member(&m) {}
  void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept override;
  [[nodiscard]] bool has_failed(std::size_t which) const noexcept override;

  const collector* owner;
  batch_member* member;
};

/// Sequences of one shape that are launched together. The collector reuses its batches and destroys
/// them only at its own end, so a member's pointer to its batch stays valid.
struct batch final : member_observer, completion_node {
  batch(collector& home, std::size_t most);

  /// Submits the operations of all members, merged position by position unless the backend runs
  /// whole sequences. If a merged operation is refused, submits member by member from there on.
  /// Returns whether no merged operation was refused.
  bool submit(stream_state& queue) noexcept;
  /// Notifies each member of its outcome and removes all members.
  void tell_members() noexcept;

  void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept override;
  [[nodiscard]] bool has_failed(std::size_t which) const noexcept override;

  [[nodiscard]] const operation_list& shape() const noexcept {
    return places.front().member->operations;
  }

  collector* owner;
  std::vector<batch_place> places;
  pumped_stream* launched_on = nullptr;  // set when the batch leaves the queue
  // Guarded by the collector's lock:
  // Number of launches; a member with an older number has been launched.
  std::uint64_t generation = 0;
  batch* next = nullptr;           // link in the queue of gathering batches or in the unused list
  batch* next_alike = nullptr;     // link in a hash chain
  std::uint64_t committed_ns = 0;  // sum of the commit times of members that had to wait
  std::size_t waited = 0;          // number of members that had to wait

 private:
  [[nodiscard]] bool run_sequences(stream_state& queue);
  void submit_merged(std::size_t offset, stream_state& queue, std::size_t& started);
  /// Submits member by member from `offset` on. The first `started` members skip the operation at
  /// `offset`, which they have started.
  void submit_each(std::size_t offset, std::size_t started, stream_state& queue) noexcept;
  void charge_members();
  [[nodiscard]] const void* gather_objects(std::size_t offset, std::size_t bytes);

  std::unique_ptr<std::byte[]> m_objects;  // contiguous argument blocks, used while submitting
  std::size_t m_capacity = 0;
  std::vector<transfer> m_transfers;
  std::vector<const operation_list*> m_lists;
  charged_accounts m_accounts;  // of the members; empty if none of them is measured
};

}  // namespace starling::detail
