// SPDX-License-Identifier: Apache-2.0
// The end of a transport: sends a goodbye to each rank and closes the endpoints.
#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "ucx_transport.hpp"

namespace starling::detail {

/// Sends goodbyes and closes all connections. Afterwards UCX of this rank neither reads nor writes
/// memory. With open connections, data of a send begun by another rank could arrive at any
/// progress, even after the receive was cancelled. (A rank of this host may still fetch offered
/// memory.)
void ucx_transport::leave() noexcept {
  if (std::exchange(m_has_left, true)) return;
  for (auto& p : m_peers) {
    drop_waiting(*p);
    // By the goodbye, other ranks distinguish a planned end of this process from a crash.
    const goodbye said = goodbye_to(*p);
    if (p->rank != m_rank && !p->state.has_failed())
      static_cast<void>(post_control(*p, leave_number, std::as_bytes(std::span(&said, 1))));
  }
  close_endpoints();
  for (auto& p : m_peers) react(*p, peer_event::close, {UCS_ERR_CANCELED});
}

/// Makes progress until the request completes or `limit` is reached, and frees it. Returns whether
/// it completed; false for a request that UCX refused.
bool ucx_transport::drive(ucs_status_ptr_t request, clock::time_point limit) noexcept {
  if (!UCS_PTR_IS_PTR(request)) return !UCS_PTR_IS_ERR(request);
  while (ucp_request_check_status(request) == UCS_INPROGRESS && clock::now() < limit)
    static_cast<void>(ucp_worker_progress(m_worker.get()));
  const bool is_over = ucp_request_check_status(request) != UCS_INPROGRESS;
  ucp_request_free(request);
  return is_over;
}

void ucx_transport::close_endpoints() noexcept {
  // Short after a failure: the messages may never arrive, and few of them are still needed.
  const std::chrono::milliseconds patience{first_lost() != nullptr ? 500 : 2000};
  const clock::time_point limit = clock::now() + patience;
  const auto has_gone = [](const peer& p) {
    return p.state.has_failed() || p.state.is_suspected();
  };
  const auto is_cut_off = [&](const peer& p) { return has_gone(p) || p.keeps_sends; };
  for (auto& p : m_peers)
    if (!is_cut_off(*p)) p->flush = p->endpoint.flush();
  const auto is_speaking = [&](const auto& p) { return p->last_words != nullptr && !has_gone(*p); };
  while (std::ranges::any_of(m_peers, is_speaking) && clock::now() < limit)
    static_cast<void>(ucp_worker_progress(m_worker.get()));
  for (auto& p : m_peers) {
    const bool is_flushed = drive(p->flush, limit);
    const bool at_once =
        is_cut_off(*p) || !is_flushed || (p->keeps_receives && p->process == nullptr);
    const bool is_closed = drive(p->endpoint.close(at_once), limit);
    if (at_once || !is_closed) m_worker.expect_leftovers();
  }
  if (m_worker.has_leftovers()) answer_connecting();
}

/// Sends the pending answers to connection requests. UCX aborts the process when a worker with a
/// pending answer is destroyed. A flush of the worker that completes at once shows that none is
/// left.
void ucx_transport::answer_connecting() noexcept {
  const clock::time_point limit = clock::now() + std::chrono::milliseconds(200);
  const ucp_request_param_t how{};
  while (clock::now() < limit) {
    const ucs_status_ptr_t flush = ucp_worker_flush_nbx(m_worker.get(), &how);
    if (!UCS_PTR_IS_PTR(flush)) return;
    static_cast<void>(drive(flush, limit));
  }
}

}  // namespace starling::detail
