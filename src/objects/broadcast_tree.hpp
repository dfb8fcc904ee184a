// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <starling/net/message.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling::detail {

class job_impl;

/// Large messages of one rank to several: each goes down a binary tree of ranks as a *load*, with
/// an id, while a *mark*, a small message from its origin to each of the ranks, says where it
/// belongs among those that the origin sends. A mark whose load has not come waits like any message
/// that names what has not been made, and with it what its origin has sent after it; a load whose
/// mark has not come is kept.
///
/// Ranks hand loads on as they came, when they come. A load holds up nobody: it leaves the window
/// of who handed it on at once. What it takes counts for its origin until it has been worked off.
class broadcast_tree {
 public:
  /// Bytes of a message from which on a load and marks cost less than copies.
  static constexpr std::size_t smallest_load = std::size_t{8} << 10;
  /// To fewer ranks the tree is what sending to each would be.
  static constexpr std::size_t fewest_ranks = 3;

  broadcast_tree(job_impl& by, object_space& space) noexcept;

  /// Sends `m`, of make_remote and counted. Any thread. `to`: ascending. @throws std::bad_alloc
  void send(std::span<const int> to, const message& m);

  /// A load, from whoever polls: of rank `from`, not necessarily its origin.
  /// @throws archive_error, std::bad_alloc
  void take(int from, message m);
  /// Calls what the load that a mark names is to call, on the mark's worker. @throws not_made_yet,
  /// archive_error
  void deliver(const arrival& mark, object_id id);

  /// All ranks are at rest: loads without a mark will get none. Ends the run.
  void refuse_left_over();
  /// What still comes is dropped and goes no further.
  void close() noexcept;
  /// After the job, when nobody is told of what was not worked off.
  void drop_left_over() noexcept;

 private:
  struct load;
  void hand_on(const load& l, shared_arrived_message& whole);
  [[nodiscard]] bool keep(const load& l, int from, std::shared_ptr<shared_arrived_message> whole);

  /// A load on this rank.
  struct kept_load {
    std::shared_ptr<shared_arrived_message> whole;
    std::span<const std::byte> call;  // within it: what make_remote has made
    std::size_t missing;              // workers that have not called it
    int by;                           // who handed it on
    bool is_marked = false;           // a mark has come
  };

  job_impl& m_job;
  object_space& m_space;

  std::mutex m_mutex;
  bool m_is_closed = false;
  std::unordered_map<object_id, kept_load> m_kept;
  std::unordered_set<object_id> m_missed;  // a mark of it waits
};

}  // namespace starling::detail
