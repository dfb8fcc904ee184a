// SPDX-License-Identifier: Apache-2.0
// The end of a transport: it sends a goodbye to each rank and closes the endpoints.
#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "ucx_transport.hpp"

namespace starling::detail {

/// Says goodbye and cuts all connections. From here on this rank's UCX neither reads nor writes
/// memory: of what another rank has begun to send, more could come whenever it makes progress,
/// cancelled or not. (What a rank of this host has been offered it may still fetch.)
void ucx_transport::part() noexcept {
  if (std::exchange(m_has_parted, true)) return;
  for (auto& p : m_peers) {
    drop_waiting(*p);
    // With this message other ranks tell a planned end of this process from a crash.
    const goodbye said = goodbye_to(*p);
    if (p->rank != m_rank && !p->failure)
      static_cast<void>(post_control(*p, leave_number, std::as_bytes(std::span(&said, 1))));
  }
  close_endpoints();
  for (auto& p : m_peers) {
    fail(*p, UCS_ERR_CANCELED);
    p->is_failure_told = true;
  }
}

/// Until it is over; false: it is not yet.
bool ucx_transport::drive(ucs_status_ptr_t request, clock::time_point limit) noexcept {
  if (!UCS_PTR_IS_PTR(request)) return !UCS_PTR_IS_ERR(request);
  while (ucp_request_check_status(request) == UCS_INPROGRESS && clock::now() < limit)
    static_cast<void>(ucp_worker_progress(m_worker.get()));
  const bool is_over = ucp_request_check_status(request) != UCS_INPROGRESS;
  ucp_request_free(request);
  return is_over;
}

void ucx_transport::close_endpoints() noexcept {
  // After a failure little is worth waiting for, and perhaps nothing gets through.
  const std::chrono::milliseconds patience{first_lost() != nullptr ? 500 : 2000};
  const clock::time_point limit = clock::now() + patience;
  const auto has_gone = [](const peer& p) { return p.failure || p.suspicion; };
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

/// Sends the pending answers to ranks that connect. UCX aborts the process when a worker is
/// destroyed that still has one. A flush of the worker that completes at once shows that none is
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
