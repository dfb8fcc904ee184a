// SPDX-License-Identifier: Apache-2.0
// Transfers: tagged messages straight from memory to memory.
#include <mutex>

#include "ucx_request.hpp"
#include "ucx_transport.hpp"

namespace starling::detail {
namespace {

std::uint64_t wire_tag(int from, std::uint64_t tag) noexcept {
  return std::uint64_t(from) * transfer::tag_limit | tag;
}

}  // namespace

void ucx_transport::start_send(transfer& t) {
  check(t);
  m_sending.fetch_add(1, std::memory_order_relaxed);
  t.native = {};
  t.native.owner = this;
  begin(t);
}

void ucx_transport::start_receive(transfer& t) {
  check(t);
  t.native = {};
  t.native.owner = this;
  t.native.is_receive = true;
  begin(t);
}

void ucx_transport::begin(transfer& t) noexcept {
  const std::lock_guard guard(m_lock);
  peer& p = *m_peers[std::size_t(t.peer)];
  if (p.failure) return transfer_over(t, *p.failure, 0);
  ucp_request_param_t how = request(0, &t);
  ucs_status_ptr_t r = nullptr;
  if (t.native.is_receive) {
    m_receives.push(t);
    how.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // sizes are told to the callback
    how.cb.recv = &on_transfer_received;
    r = ucp_tag_recv_nbx(m_worker.get(), t.data, t.bytes, wire_tag(t.peer, t.tag), ~std::uint64_t{},
                         &how);
  } else {
    how.cb.send = &on_transfer_sent;
    r = ucp_tag_send_nbx(p.endpoint.get(), t.data, t.bytes, wire_tag(m_rank, t.tag), &how);
  }
  if (UCS_PTR_IS_PTR(r)) {
    t.native.request = r;
    return;
  }
  if (UCS_PTR_IS_ERR(r)) fail(p, UCS_PTR_STATUS(r));
  transfer_over(t, UCS_PTR_STATUS(r), t.bytes);
}

void ucx_transport::on_transfer_sent(void* request, ucs_status_t status, void* context) noexcept {
  auto& t = *static_cast<transfer*>(context);
  static_cast<ucx_transport*>(t.native.owner)->transfer_over(t, status, t.bytes);
  ucp_request_free(request);
}

void ucx_transport::on_transfer_received(void* request, ucs_status_t status,
                                         const ucp_tag_recv_info_t* info, void* context) noexcept {
  auto& t = *static_cast<transfer*>(context);
  const std::size_t bytes =
      status == UCS_OK || status == UCS_ERR_MESSAGE_TRUNCATED ? info->length : 0;
  static_cast<ucx_transport*>(t.native.owner)->transfer_over(t, status, bytes);
  ucp_request_free(request);
}

/// To be told when no lock is held.
void ucx_transport::transfer_over(transfer& t, ucs_status_t status, std::size_t bytes) noexcept {
  if (t.native.is_receive) m_receives.remove(t);
  t.native.status = status;
  t.native.arrived = bytes;
  m_over.push(t);
}

void ucx_transport::end(transfer& t) noexcept {
  if (!t.native.is_receive) m_sending.fetch_sub(1, std::memory_order_relaxed);
  std::exception_ptr error;
  if (t.native.status == UCS_ERR_MESSAGE_TRUNCATED ||
      (t.native.status == UCS_OK && t.native.arrived != t.bytes))
    error = wrong_size(t, t.native.arrived);
  else if (t.native.status != UCS_OK)
    error = std::make_exception_ptr(describe(*m_peers[std::size_t(t.peer)]));
  t.done(t, std::move(error));
}

/// Those who wait for what will never come. Their ends are told by UCX.
void ucx_transport::end_receives_from(const peer& p) noexcept {
  for (transfer* t = m_receives.first(); t != nullptr;) {
    transfer* const next = t->native.next;
    if (t->peer == p.rank && t->native.request != nullptr)
      ucp_request_cancel(m_worker.get(), t->native.request);
    t = next;
  }
}

}  // namespace starling::detail
