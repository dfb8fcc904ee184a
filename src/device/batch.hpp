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

namespace starling::detail {

class collector;
struct lane;

/// A member's place in its batch; what observes it where it is submitted by itself.
struct batch_place final : member_observer {
  batch_place(const collector& home, batch_member& m) noexcept : owner(&home), member(&m) {}
  void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept override;
  [[nodiscard]] bool has_failed(std::size_t which) const noexcept override;

  const collector* owner;
  batch_member* member;
};

/// Sequences of one shape that are launched together. Used again and again by its collector, which
/// alone frees it: a member's pointer to it stays valid.
struct batch final : member_observer, completion_node {
  batch(collector& home, std::size_t most);

  /// Submits all members' operations, merged position by position unless the backend has a way of
  /// its own. What is refused as one is submitted member by member from there on. Returns whether
  /// nothing was refused.
  bool submit(stream_state& queue) noexcept;
  /// Tells every member the outcome and forgets them.
  void tell_members() noexcept;

  void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept override;
  [[nodiscard]] bool has_failed(std::size_t which) const noexcept override;

  [[nodiscard]] const operation_list& shape() const noexcept {
    return places.front().member->operations;
  }

  collector* owner;
  std::vector<batch_place> places;
  lane* where = nullptr;  // once launched
  // Under the collector's lock:
  std::uint64_t generation = 0;    // counts departures: members of an older one are out of reach
  batch* next = nullptr;           // in the queue of those that gather, or of those unused
  batch* next_alike = nullptr;     // in a chain of one remainder of the hash
  std::uint64_t committed_ns = 0;  // sum over the members that had to wait
  std::size_t waited = 0;          // how many those are

 private:
  [[nodiscard]] bool run_sequences(stream_state& queue);
  void submit_merged(std::size_t offset, stream_state& queue, std::size_t& started);
  /// From `offset` on; the first `started` members have what lies there behind them.
  void submit_each(std::size_t offset, std::size_t started, stream_state& queue) noexcept;
  [[nodiscard]] const void* gather_objects(std::size_t offset, std::size_t bytes);

  std::unique_ptr<std::byte[]> m_objects;  // argument blocks side by side, while submitting
  std::size_t m_capacity = 0;
  std::vector<transfer> m_transfers;
  std::vector<const operation_list*> m_lists;
};

}  // namespace starling::detail
