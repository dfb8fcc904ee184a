// SPDX-License-Identifier: Apache-2.0
#include "ucx_transport.hpp"

#include <cstdio>
#include <thread>

#include "make_ucx.hpp"

namespace starling::detail {
namespace {

/// How often processes of this host are looked after, and the clock.
constexpr std::chrono::milliseconds look_interval{50};
constexpr unsigned rounds_a_look = 64;

}  // namespace

ucx_transport::ucx_transport(bootstrap& ranks, const options& o)
    : m_rank(ranks.rank()), m_options(o), m_farewells(ranks.size(), ranks.rank()) {
  ucp_am_handler_param_t to{};
  to.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                  UCP_AM_HANDLER_PARAM_FIELD_ARG;
  to.id = active_message;
  to.cb = &on_message;
  to.arg = this;
  check_ucx(ucp_worker_set_am_recv_handler(m_worker.get(), &to), "ucp_worker_set_am_recv_handler");
  const auto processes = all_processes(ranks);
  const std::vector<std::string> addresses = ranks.all_gather(m_worker.address());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto p = std::make_unique<peer>(o.window);
    p->owner = this;
    p->rank = rank;
    p->name = processes[std::size_t(rank)].name();
    if (processes[std::size_t(rank)].is_near())
      p->process = std::make_unique<process_watch>(processes[std::size_t(rank)].id);
    m_peers.push_back(std::move(p));
  }
  const std::lock_guard guard(m_lock);
  try {
    for (auto& p : m_peers) {
      const std::string& address = addresses[std::size_t(p->rank)];
      p->endpoint = p->process != nullptr
                        ? ucx_endpoint(m_worker.get(), address)
                        : ucx_endpoint(m_worker.get(), address, &on_error, p.get());
    }
  } catch (...) {
    close_endpoints();
    throw;
  }
}

ucx_transport::~ucx_transport() {
  const std::lock_guard guard(m_lock);
  close_endpoints();
  // Nobody is left to be told that they are gone.
  forget(m_arrived);
  for (auto& p : m_peers) {
    p->waiting.clear();
    forget(p->early);
  }
}

void ucx_transport::close_endpoints() noexcept {
  constexpr std::chrono::seconds patience{2};
  const clock::time_point limit = clock::now() + patience;
  for (auto& p : m_peers) {
    const bool at_once = p->failure.has_value() || !m_farewells.are_complete();
    const ucs_status_ptr_t closing = p->endpoint.close(at_once);
    if (!UCS_PTR_IS_PTR(closing)) continue;
    while (ucp_request_check_status(closing) == UCS_INPROGRESS && clock::now() < limit)
      static_cast<void>(ucp_worker_progress(m_worker.get()));
    ucp_request_free(closing);
  }
}

void ucx_transport::finish() {
  {
    const std::lock_guard only(m_progress);
    for (const auto& p : m_peers)
      if (p->is_failure_told) throw describe(*p);
    m_farewells.begin_round();
  }
  for (int to = 0; to < size(); ++to)
    if (to != m_rank) {
      const std::lock_guard guard(m_lock);
      peer& p = *m_peers[std::size_t(to)];
      m_sending.fetch_add(1, std::memory_order_relaxed);
      message_block* b = message_block::make(0);
      b->number = farewells::number;
      p.waiting.push(b);
      pump(p);
    }
  for (;;) {
    if (!progress()) std::this_thread::yield();
    const std::lock_guard only(m_progress);
    if (m_lost) throw *m_lost;
    if (m_farewells.are_complete() && in_flight() == 0) return;
  }
}

void ucx_transport::forget(message_list& messages) noexcept {
  while (message_block* b = messages.pop()) {
    b->keeper = nullptr;
    message_block::destroy(b);
  }
}

// --- progress

bool ucx_transport::progress() noexcept {
  const std::unique_lock only(m_progress, std::try_to_lock);
  if (!only.owns_lock()) return false;
  message_list arrived;
  transfer_list over;
  bool has_failures = false;
  {
    const std::lock_guard guard(m_lock);
    constexpr int enough = 16;
    for (int i = 0; i < enough && m_arrived.empty(); ++i)
      if (ucp_worker_progress(m_worker.get()) == 0) break;
    tell_destroyed();
    if (++m_rounds % rounds_a_look == 0) look_for_dead();
    if (m_has_failures) end_failed();
    arrived = std::move(m_arrived);
    over = std::move(m_over);
    has_failures = std::exchange(m_has_failures, false);
  }
  const bool any = !arrived.empty() || !over.empty() || has_failures;
  while (message_block* b = arrived.pop()) handle(message::adopt(b), b->from, b->number);
  while (transfer* t = over.pop()) end(*t);
  if (has_failures) tell_failures();
  return any;
}

void ucx_transport::handle(message m, int from, unsigned number) noexcept {
  if (number == farewells::number)
    m_farewells.note(from);
  else if (number < handler_limit)
    deliver(number, from, std::move(m));
}

bool ucx_transport::arm() noexcept {
  const std::lock_guard guard(m_lock);
  return m_arrived.empty() && m_over.empty() && !m_has_failures &&
         ucp_worker_arm(m_worker.get()) == UCS_OK;
}

// --- ranks that go

void ucx_transport::on_error(void* context, ucp_ep_h, ucs_status_t status) noexcept {
  auto& p = *static_cast<peer*>(context);
  p.owner->fail(p, status);
}

/// Of processes of this host UCX says nothing.
void ucx_transport::look_for_dead() noexcept {
  m_now = clock::now();
  if (m_now < m_next_look) return;
  m_next_look = m_now + look_interval;
  for (const auto& p : m_peers)
    if (p->process != nullptr && !p->failure && p->process->has_ended())
      fail(*p, UCS_ERR_CONNECTION_RESET);
}

void ucx_transport::fail(peer& p, ucs_status_t why) noexcept {
  if (p.failure) return;
  p.failure = why;
  m_has_failures = true;
  while (message_block* b = p.waiting.pop()) {
    message_block::destroy(b);
    m_sending.fetch_sub(1, std::memory_order_relaxed);
  }
}

void ucx_transport::end_failed() noexcept {
  for (const auto& p : m_peers)
    if (p->failure && !p->is_failure_told) end_receives_from(*p);
}

void ucx_transport::tell_failures() noexcept {
  for (const auto& p : m_peers) {
    if (!p->failure || std::exchange(p->is_failure_told, true)) continue;
    if (m_farewells.may_have_left(p->rank)) continue;  // `finish` tells who calls it again
    m_lost.emplace(describe(*p));
    tell_failure(*m_lost);
  }
}

rank_failure ucx_transport::describe(const peer& p) const {
  const double silent = std::chrono::duration<double>(clock::now() - p.heard).count();
  char ago[32];
  std::snprintf(ago, sizeof ago, "%.1f", silent);
  return rank_failure("rank " + std::to_string(p.rank) + " (" + p.name + ") has gone: " +
                          ucs_status_string(p.failure.value_or(UCS_ERR_CONNECTION_RESET)) +
                          "; its last sign of life was " + ago + " s ago",
                      p.rank);
}

std::unique_ptr<transport> make_ucx_transport(bootstrap& ranks, const transport::options& o) {
  return std::make_unique<ucx_transport>(ranks, o);
}

}  // namespace starling::detail
