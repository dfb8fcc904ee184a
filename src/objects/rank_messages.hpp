// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>

#include "rank_balancing.hpp"

/// How the messages of rank_balancing.hpp are sent and received.
namespace starling::detail {

/// Whether balancing_lead receives the message, on rank 0.
template <class M>
inline constexpr bool is_for_lead =
    std::is_same_v<M, rank_summary> || std::is_same_v<M, rank_outcome>;

/// Passes a message on. On worker 0 of the receiving rank. @throws archive_error
template <class M>
void receive_balancing(array_base& array, int from, M&& m) {
  if (array.is_closed()) return;
  if constexpr (is_for_lead<M>)
    array.balancing().receive(from, std::move(m));
  else
    array.rank_part().receive(from, std::move(m));
}

/// Handler of a message.
template <class M>
struct remote_balancing {
  static void run(received_call& a) {
    a.require_first_worker();
    a.require(!is_for_lead<M> || a.space().rank() == 0, "rank 0 leads a balancing");
    input_archive ar = a.arguments();
    array_base& array = a.space().array(ar.read<object_id>());
    M m = ar.read<M>();
    require_end(ar);
    receive_balancing(array, a.from(), std::move(m));
  }
};

/// Sends a message to worker 0 of a rank.
template <class M>
void send_to_rank(array_base& array, int rank, M m) {
  const int here = array.space().rank();
  if (rank != here)
    return array.space().current_job()->send(
        rank, make_remote<remote_balancing<M>>({0, priority::high}, array.id(), m));
  send_call(
      *array.local(0).home,
      [&array, here, m = std::move(m)]() mutable { receive_balancing(array, here, std::move(m)); },
      priority::high);
}

}  // namespace starling::detail
