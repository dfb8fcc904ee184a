// SPDX-License-Identifier: Apache-2.0
// Messages: in windows, in order. UCX sends a message eagerly, or the receiver fetches its data.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "ucx_transport.hpp"

namespace starling::detail {
namespace {

/// Largest message, in bytes, that is always sent eagerly, as one piece with its header: the
/// fastest way. For larger messages and attached memory UCX decides whether the receiver fetches
/// the data.
constexpr std::size_t largest_small = 2048;

}  // namespace

void ucx_transport::send(int to, unsigned number, message m) {
  check_address(to, number);
  if (m.data() == nullptr) m = message(0);
  if (to == m_rank || sizeof(wire_header) + m.bytes().size() > m_worker.largest_header()) m.join();
  message_block* b = m.release();
  b->number = number;
  b->from = m_rank;
  peer& p = *m_peers[std::size_t(to)];
  if (m_lock.try_lock()) {
    const section here(*this, std::adopt_lock);
    return begin_send(p, b);
  }
  peer_of(*b) = &p;
  m_submitted_messages.fetch_add(1, std::memory_order_relaxed);
  submit(b, nullptr);
}

void ucx_transport::begin_send(peer& to, message_block* b) noexcept {
  if (to.rank == m_rank) {
    m_received.push(b);
    return wake();
  }
  if (to.state.has_failed()) return retire(b);
  count_sending(to, 1);
  to.waiting.push(b);
  pump(to);
}

// --- submission to the thread that holds m_lock

/// Submits a message or a transfer; one of the arguments is null.
void ucx_transport::submit(message_block* b, transfer* t) noexcept {
  {
    const std::lock_guard guard(m_submit_lock);
    if (b != nullptr) m_submitted.push(b);
    if (t != nullptr) m_submitted_transfers.push(*t);
    m_has_submitted.store(true, std::memory_order_seq_cst);
  }
  if (m_lock.try_lock()) leave_section();
}

void ucx_transport::begin_submitted() noexcept {
  if (!m_has_submitted.load(std::memory_order_relaxed)) return;
  message_list messages;
  transfer_list transfers;
  {
    const std::lock_guard guard(m_submit_lock);
    m_has_submitted.store(false, std::memory_order_relaxed);
    messages = std::move(m_submitted);
    transfers = std::move(m_submitted_transfers);
  }
  while (message_block* b = messages.pop()) {
    begin_send(*peer_of(*b), b);
    m_submitted_messages.fetch_sub(1, std::memory_order_relaxed);
  }
  while (transfer* t = transfers.pop()) begin_transfer(*t);
}

void ucx_transport::leave_section() noexcept {
  do {
    begin_submitted();
    const message_list retired = std::move(m_retired);  // destroyed without the lock
    transfer_list refused = std::move(m_refused);
    m_lock.unlock();
    while (transfer* t = refused.pop()) t->done(*t, std::make_exception_ptr(operation_cancelled()));
  } while (m_has_submitted.load(std::memory_order_seq_cst) && m_lock.try_lock());
}

/// Destroys a message that was sent. The release of an attached owner runs code of the user, so it
/// is deferred until m_lock is released.
void ucx_transport::retire(message_block* b) noexcept {
  if (b->tail != nullptr)
    m_retired.push(b);
  else
    message_block::destroy(b);
}

bool ucx_transport::is_congested(int to) const noexcept {
  return m_peers[std::size_t(to)]->is_congested.load(std::memory_order_relaxed);
}

std::size_t ucx_transport::in_flight() const noexcept {
  return m_submitted_messages.load(std::memory_order_relaxed) +
         m_sending.load(std::memory_order_relaxed) +
         m_sending_memory.load(std::memory_order_relaxed);
}

void ucx_transport::pump(peer& to) noexcept {
  while (!to.waiting.empty() && to.window.admits(to.waiting.front())) {
    message_block* b = to.waiting.pop();
    to.window.take(window_share(b->size));
    post(to, b->number, b);
  }
  to.is_congested.store(!to.waiting.empty(), std::memory_order_relaxed);
}

/// Passes a message to UCX. A small message is one piece with its header; attached memory follows
/// the header and the message's own bytes.
ucs_status_ptr_t ucx_transport::hand_over(const peer& to, message_block* b) noexcept {
  ucp_request_param_t how = request(0, b);
  how.cb.send = &on_sent;
  const auto send = [&](std::size_t header_bytes, const void* data, std::size_t bytes) {
    return ucp_am_send_nbx(to.endpoint.get(), active_message, header_place(*b), header_bytes, data,
                           bytes, &how);
  };
  if (b->tail != nullptr)
    return send(sizeof(wire_header) + b->size_here(), b->tail->bytes.data(), b->tail->bytes.size());
  if (b->size > largest_small) return send(sizeof(wire_header), b->bytes(), b->size);
  how.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  return send(0, header_place(*b), sizeof(wire_header) + b->size);
}

void ucx_transport::post(peer& to, unsigned number, message_block* b) noexcept {
  const std::uint64_t destroyed_here = to.destroyed.load(std::memory_order_relaxed);
  to.credited.store(destroyed_here, std::memory_order_relaxed);
  wire_header header{to.code_to, std::uint32_t(m_rank), number, 0, destroyed_here};
  if (number != credit_number) header.position = to.next_sent++;
  write_header(*b, header);
  peer_of(*b) = &to;
  const ucs_status_ptr_t r = hand_over(to, b);
  if (UCS_PTR_IS_PTR(r)) {
    if (number == leave_number) to.last_words = b;
    return m_held.add(b);
  }
  if (UCS_PTR_IS_ERR(r)) suspect(to, UCS_PTR_STATUS(r));
  retire(b);
  count_sending(to, -1);
}

/// Sends a control message ahead of the waiting messages. Returns false if memory is exhausted.
bool ucx_transport::post_control(peer& to, unsigned number,
                                 std::span<const std::byte> bytes) noexcept {
  try {
    message_block* b = message_block::make(bytes.size());
    std::ranges::copy(bytes, b->bytes());
    count_sending(to, 1);
    post(to, number, b);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ucx_transport::on_sent(void* request, ucs_status_t, void* block) noexcept {
  // Errors are reported by the endpoint's error handler.
  auto* b = static_cast<message_block*>(block);
  peer& to = *peer_of(*b);
  if (b == to.last_words) to.last_words = nullptr;
  to.owner->m_held.remove(b);
  to.owner->retire(b);
  to.owner->count_sending(to, -1);
  ucp_request_free(request);
}

void ucx_transport::destroyed(int from, std::size_t bytes) noexcept {
  peer& p = *m_peers[std::size_t(from)];
  const std::uint64_t share = window_share(bytes);
  const std::uint64_t now = p.destroyed.fetch_add(share, std::memory_order_relaxed) + share;
  // If the flag is set already, the thread that clears it reads the new sum.
  if (now - p.credited.load(std::memory_order_relaxed) >=
      send_window::smallest_credit(m_options.window))
    if (!m_credit_is_due.exchange(true, std::memory_order_seq_cst)) wake();
}

/// Sends large amounts of credit in separate messages. Most credit is sent in the headers of other
/// messages.
void ucx_transport::send_credit() noexcept {
  if (!m_credit_is_due.load(std::memory_order_relaxed) ||
      !m_credit_is_due.exchange(false, std::memory_order_acquire))
    return;
  for (auto& p : m_peers) {
    const std::uint64_t uncredited =
        p->destroyed.load(std::memory_order_relaxed) - p->credited.load(std::memory_order_relaxed);
    if (p->state.has_failed() || uncredited < send_window::smallest_credit(m_options.window))
      continue;
    if (!post_control(*p, credit_number))
      m_credit_is_due.store(true, std::memory_order_relaxed);  // no memory: tried again later
  }
}

ucs_status_t ucx_transport::on_message(void* self, const void* header, std::size_t header_bytes,
                                       void* data, std::size_t bytes,
                                       const ucp_am_recv_param_t* how) noexcept {
  auto& t = *static_cast<ucx_transport*>(self);
  raw_message m{{}, {}, data, bytes, (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};
  std::span before(static_cast<const std::byte*>(header), header_bytes);
  if (header_bytes == 0 && !m.is_to_be_fetched && bytes >= sizeof m.header) {
    before = {static_cast<const std::byte*>(data), sizeof m.header};
    m.data = static_cast<std::byte*>(data) + sizeof m.header;
    m.bytes -= sizeof m.header;
  }
  if (before.size() >= sizeof m.header) {
    std::memcpy(&m.header, before.data(), sizeof m.header);
    m.first = before.subspan(sizeof m.header);
  }
  const std::uint32_t from = m.header.from;
  const bool is_of_rank = before.size() >= sizeof m.header && from < t.m_peers.size() &&
                          int(from) != t.m_rank && m.header.code == t.m_peers[from]->code_from;
  if (is_of_rank) return t.receive(m);
  t.refuse_unauthenticated();
  return UCS_OK;  // UCX drops it without fetching more
}

ucs_status_t ucx_transport::receive(const raw_message& m) noexcept {
  const wire_header& header = m.header;
  peer& from = *m_peers[header.from];
  from.heard = m_now;
  if (from.state.has_failed()) return UCS_OK;
  if (header.destroyed > from.returned) {
    const std::uint64_t more = header.destroyed - from.returned;
    if (!from.window.has_taken(more))
      return refuse(from,
                    {UCS_ERR_REJECTED, {}, "it has destroyed more messages than it was sent"});
    from.window.give_back(more);
    from.returned = header.destroyed;
    pump(from);
  }
  if (header.number == credit_number || from.state.has_failed()) return UCS_OK;
  if (header.position < from.next_taken)
    return refuse(from, {UCS_ERR_REJECTED, {}, "a message came twice"});
  message_block* b = nullptr;
  try {
    b = message_block::make(m.first.size() + m.bytes);
  } catch (const std::bad_alloc&) {
    return refuse(from, {UCS_ERR_NO_MEMORY});
  }
  b->from = from.rank;
  b->number = header.number;
  write_header(*b, header);
  peer_of(*b) = &from;
  std::ranges::copy(m.first, b->bytes());
  std::byte* const rest = b->bytes() + m.first.size();
  if (m.is_to_be_fetched) return fetch(from, m.data, b, {rest, m.bytes});
  if (m.bytes != 0) std::memcpy(rest, m.data, m.bytes);
  take(from, b);
  return UCS_OK;
}

/// Fetches the data of a large message whose header has arrived.
ucs_status_t ucx_transport::fetch(peer& from, void* description, message_block* b,
                                  std::span<std::byte> to) noexcept {
  ucp_request_param_t how = request(UCP_OP_ATTR_FLAG_NO_IMM_CMPL, b);
  how.cb.recv_am = &on_data;
  m_held.add(b);  // before the call, which may complete it
  const ucs_status_ptr_t r =
      ucp_am_recv_data_nbx(m_worker.get(), description, to.data(), to.size(), &how);
  if (UCS_PTR_IS_ERR(r)) {
    m_held.remove(b);
    message_block::destroy(b);
    suspect(from, UCS_PTR_STATUS(r));
  }
  return UCS_INPROGRESS;
}

void ucx_transport::on_data(void* request, ucs_status_t status, std::size_t, void* block) noexcept {
  auto* b = static_cast<message_block*>(block);
  peer& from = *peer_of(*b);
  ucx_transport* const self = from.owner;
  self->m_held.remove(b);
  if (status == UCS_OK) {
    self->take(from, b);
  } else {
    message_block::destroy(b);
    self->suspect(from, status);
  }
  ucp_request_free(request);
}

void ucx_transport::take(peer& from, message_block* b) noexcept {
  const auto position = [](const message_block& m) {
    std::uint64_t found = 0;
    std::memcpy(&found, header_place(m) + offsetof(wire_header, position), sizeof found);
    return found;
  };
  // A goodbye does not count against the window: it is sent ahead of the waiting messages.
  b->keeper = b->number == leave_number ? nullptr : this;
  if (position(*b) != from.next_taken)
    return from.early.insert(b, [&](const message_block& x, const message_block& y) {
      return position(x) < position(y);
    });
  for (;;) {
    m_received.push(b);
    ++from.next_taken;
    if (from.early.empty() || position(from.early.front()) != from.next_taken) return;
    b = from.early.pop();
  }
}

}  // namespace starling::detail
