// SPDX-License-Identifier: Apache-2.0
// Transfers: tagged messages straight from memory to memory.
#include <bit>
#include <memory>
#include <mutex>
#include <utility>

#include "ucx_transport.hpp"

namespace starling::detail {
namespace {

/// Returns the tag for UCX. `code`: the receiver's, combined with the tag by exclusive or, which
/// keeps tags distinct.
std::uint64_t wire_tag(int from, std::uint64_t tag, std::uint64_t code) noexcept {
  return (std::uint64_t(from) * transfer::tag_limit | tag) ^ code;
}

}  // namespace

void ucx_transport::cancel_receive(transfer& t) noexcept {
  const section here(*this);
  const auto* const pending = static_cast<pending_transfer*>(t.state.request);
  if (pending != nullptr && pending->request != nullptr)
    ucp_request_cancel(m_worker.get(), pending->request);
}

void ucx_transport::begin(transfer& t, bool is_receive) {
  check(t);
  t.state = {};
  t.state.owner = this;
  t.state.is_receive = is_receive;
  t.state.request = new pending_transfer{this, &t};
  if (!is_receive) m_sending_memory.fetch_add(1, std::memory_order_relaxed);
  if (m_lock.try_lock()) {
    const section here(*this, std::adopt_lock);
    return begin_transfer(t);
  }
  submit(nullptr, &t);
}

void ucx_transport::begin_transfer(transfer& t) noexcept {
  std::unique_ptr<pending_transfer> pending(
      static_cast<pending_transfer*>(std::exchange(t.state.request, nullptr)));
  if (m_has_left) {  // completed here, because perhaps no thread calls progress() any more
    if (!t.state.is_receive) m_sending_memory.fetch_sub(1, std::memory_order_relaxed);
    return m_refused.push(t);
  }
  peer& p = *m_peers[std::size_t(t.peer)];
  m_transfers.push(t);
  if (p.state.has_ended()) return transfer_over(t, p.cause.status, 0);
  ucp_request_param_t how = request(UCP_OP_ATTR_FLAG_NO_IMM_CMPL, pending.get());
  ucs_status_ptr_t r = nullptr;
  m_begun = pending.get();
  if (p.state.has_failed()) {
    r = UCS_STATUS_PTR(p.cause.status);
  } else if (t.state.is_receive) {
    how.cb.recv = &on_transfer_received;
    const std::uint64_t tag = wire_tag(t.peer, t.tag, m_peers[std::size_t(m_rank)]->tag_code);
    r = ucp_tag_recv_nbx(m_worker.get(), t.data, t.bytes, tag, ~std::uint64_t{}, &how);
  } else {
    how.cb.send = &on_transfer_sent;
    r = ucp_tag_send_nbx(p.endpoint.get(), t.data, t.bytes, wire_tag(m_rank, t.tag, p.tag_code),
                         &how);
  }
  const bool was_told = std::exchange(m_begun, nullptr) == nullptr;
  if (was_told) return static_cast<void>(pending.release());  // the callback has taken ownership
  if (UCS_PTR_IS_ERR(r))
    suspect(p, UCS_PTR_STATUS(r));
  else
    pending->request = r;
  t.state.request = pending.release();
}

void ucx_transport::on_transfer_sent(void* request, ucs_status_t status, void* context) noexcept {
  on_transfer_over(static_cast<pending_transfer*>(context), status, 0);
  ucp_request_free(request);
}

void ucx_transport::on_transfer_received(void* request, ucs_status_t status,
                                         const ucp_tag_recv_info_t* info, void* context) noexcept {
  const bool has_come = status == UCS_OK || status == UCS_ERR_MESSAGE_TRUNCATED;
  on_transfer_over(static_cast<pending_transfer*>(context), status, has_come ? info->length : 0);
  ucp_request_free(request);
}

void ucx_transport::on_transfer_over(pending_transfer* p, ucs_status_t status,
                                     std::size_t bytes) noexcept {
  if (p->is_orphan) return;
  ucx_transport& self = *p->owner;
  transfer& t = *p->of;
  peer& other = *self.m_peers[std::size_t(t.peer)];
  if (self.m_begun == p) self.m_begun = nullptr;
  // After a failure UCX reports this status for transfers that were not cancelled by the user.
  const bool is_cancelled = status == UCS_ERR_CANCELED && !other.state.has_failed();
  if (status != UCS_OK && status != UCS_ERR_MESSAGE_TRUNCATED && !is_cancelled) {
    p->request = nullptr;
    t.state.request = p;
    return self.suspect(other, status);
  }
  const std::unique_ptr<pending_transfer> whole(p);
  self.transfer_over(t, status, bytes);
}

/// Queues a completed transfer: progress() calls its `done` without m_lock.
void ucx_transport::transfer_over(transfer& t, ucs_status_t status, std::size_t bytes) noexcept {
  m_transfers.remove(t);
  t.state.request = nullptr;
  if (!t.state.is_receive) m_sending_memory.fetch_sub(1, std::memory_order_relaxed);
  t.state.status = status;
  t.state.received = t.state.is_receive ? bytes : t.bytes;
  m_over.push(t);
  wake();
}

void ucx_transport::end(transfer& t) noexcept {
  std::exception_ptr error;
  if (t.state.status == UCS_ERR_MESSAGE_TRUNCATED ||
      (t.state.status == UCS_OK && t.state.received != t.bytes)) {
    error = wrong_size(t, t.state.received);
  } else if (t.state.status == UCS_ERR_CANCELED) {
    error = std::make_exception_ptr(operation_cancelled());
  } else if (t.state.status != UCS_OK) {
    // The first lost rank is the cause: the peer may have left because of it.
    const section here(*this);
    error = std::make_exception_ptr(m_lost ? *m_lost : describe(*m_peers[std::size_t(t.peer)]));
  }
  t.done(t, std::move(error));
}

/// Completes the transfers with `p` that UCX has not completed.
void ucx_transport::end_transfers_with(const peer& p, ucs_status_t why) noexcept {
  for (transfer* t = m_transfers.first(); t != nullptr;) {
    transfer* const next = t->state.next;
    if (t->peer == p.rank && t->state.request != nullptr) {
      auto* const pending = static_cast<pending_transfer*>(t->state.request);
      pending->is_orphan = true;
      pending->next = std::exchange(m_orphans.first, pending);
      transfer_over(*t, why, 0);
      if (t->state.is_receive && pending->request != nullptr)
        ucp_request_cancel(m_worker.get(), pending->request);
    }
    t = next;
  }
}

/// Drops tagged messages of programs outside the job: they match no receive, so UCX would keep them
/// for ever. A rank's tag, without the code, has no bit above those of the largest rank number; a
/// message whose tag has such a bit is dropped.
void ucx_transport::drop_unauthenticated_memory() noexcept {
  constexpr int bits_of_tag = std::countr_zero(transfer::tag_limit);
  const std::uint64_t code = m_peers[std::size_t(m_rank)]->tag_code;
  for (int bit = bits_of_tag + std::bit_width(m_peers.size() - 1); bit < 64; ++bit) {
    const std::uint64_t mask = std::uint64_t{1} << bit;
    ucp_tag_recv_info_t about{};
    while (const ucp_tag_message_h found =
               ucp_tag_probe_nb(m_worker.get(), ~code & mask, mask, 1, &about)) {
      refuse_unauthenticated();
      const ucp_request_param_t how{};
      const ucs_status_ptr_t r = ucp_tag_msg_recv_nbx(m_worker.get(), nullptr, 0, found, &how);
      if (UCS_PTR_IS_PTR(r)) ucp_request_free(r);
    }
  }
}

void ucx_transport::cancel_transfers() noexcept {
  const std::lock_guard only(m_progress);
  const section here(*this);
  for (const auto& p : m_peers) {
    for (const transfer* t = m_transfers.first(); t != nullptr; t = t->state.next)
      if (t->peer == p->rank) (t->state.is_receive ? p->keeps_receives : p->keeps_sends) = true;
    end_transfers_with(*p, UCS_ERR_CANCELED);
  }
  leave();
}

}  // namespace starling::detail
