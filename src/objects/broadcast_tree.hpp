// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <starling/net/message.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling::detail {

class job_impl;

/// Sends large messages of one rank to several ranks. The message goes down a binary tree of ranks
/// as a *load* with an id. Besides, the origin sends a *mark*, a small message, to each of the
/// ranks: the mark's position among the origin's messages is the position of the broadcast. A mark
/// whose load has not arrived waits like any message that names an object not made yet, and the
/// origin's later messages wait with it. A load whose mark has not arrived is kept.
///
/// Ranks forward loads unchanged on arrival. A load blocks no other message: it leaves the window
/// of the forwarding rank at once. The bytes of a load count as in flight for its origin until it
/// has been processed.
class broadcast_tree {
 public:
  /// Message size in bytes from which a load and marks cost less than copies.
  static constexpr std::size_t smallest_load = std::size_t{8} << 10;
  /// Number of ranks from which a tree differs from a send to each of them.
  static constexpr std::size_t fewest_ranks = 3;

  broadcast_tree(job_impl& by, object_space& space) noexcept;

  /// Sends `m`, a counted message of make_remote. Any thread. `to`: ascending.
  /// @throws std::bad_alloc
  void send(std::span<const int> to, const message& m);

  /// Takes a load from rank `from`, not necessarily its origin. Called by the polling thread.
  /// @throws archive_error, std::bad_alloc
  void take(int from, message m);
  /// Runs the call of the load that a mark names, on the mark's worker. @throws not_made_yet,
  /// archive_error
  void deliver(const received_call& mark, object_id id);

  /// Ends the run if a load has no mark: all ranks are quiescent, so none will arrive.
  void refuse_left_over();
  /// Drops loads that arrive from now on and does not forward them.
  void close() noexcept;
  /// Destroys the kept loads. Called after the job, when receipts are no longer reported.
  void drop_left_over() noexcept;

 private:
  struct load;
  /// A load on this rank.
  struct kept_load {
    std::shared_ptr<shared_received_message> whole;
    std::span<const std::byte> call;  // the message of make_remote, within `whole`
    checked_header header;            // of `call`
    std::size_t missing;              // workers that have not run it
    int by;                           // rank that forwarded it
    bool is_marked = false;           // its mark has arrived
  };
  void hand_on(const load& l, shared_received_message& whole);
  [[nodiscard]] bool keep(object_id id, kept_load k);

  job_impl& m_job;
  object_space& m_space;

  std::mutex m_mutex;
  bool m_is_closed = false;
  std::unordered_map<object_id, kept_load> m_kept;
  std::unordered_set<object_id> m_missed;  // loads for which a mark waits
};

}  // namespace starling::detail
