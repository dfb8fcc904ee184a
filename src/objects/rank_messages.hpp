// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>

#include "rank_balancing.hpp"

/// How the messages of rank_balancing.hpp are sent and received.
namespace starling::detail {

/// Handler of a message for the part of a rank. On its worker 0.
template <class M>
struct remote_rank_message {
  static void run(received_call& a) {
    a.require_first_worker();
    input_archive ar = a.arguments();
    array_base& array = a.space().array(ar.read<object_id>());
    M m = ar.read<M>();
    require_end(ar);
    if (!array.is_closed()) array.rank_part().receive(a.from(), std::move(m));
  }
};

/// Handler of a message for rank 0, which leads.
template <class M>
struct remote_lead_message {
  static void run(received_call& a) {
    a.require_first_worker();
    input_archive ar = a.arguments();
    array_base& array = a.space().array(ar.read<object_id>());
    M m = ar.read<M>();
    require_end(ar);
    a.require(a.space().rank() == 0, "rank 0 leads a balancing");
    if (!array.is_closed()) array.balancing().receive(a.from(), std::move(m));
  }
};

/// Sends a message to worker 0 of a rank.
template <class M>
void send_to_rank(array_base& array, int rank, M m) {
  if (rank != array.space().rank())
    return array.space().current_job()->send(
        rank, make_remote<remote_rank_message<M>>({0, priority::high}, array.id(), m));
  send_call(
      *array.local(0).home,
      [&array, m = std::move(m)]() mutable {
        if (!array.is_closed()) array.rank_part().receive(array.space().rank(), std::move(m));
      },
      priority::high);
}

/// Sends a message to the balancing_lead on rank 0.
template <class M>
void send_to_lead(array_base& array, M m) {
  if (array.space().rank() != 0)
    return array.space().current_job()->send(
        0, make_remote<remote_lead_message<M>>({0, priority::high}, array.id(), m));
  send_call(
      *array.local(0).home,
      [&array, m = std::move(m)]() mutable {
        if (!array.is_closed()) array.balancing().receive(0, std::move(m));
      },
      priority::high);
}

}  // namespace starling::detail
