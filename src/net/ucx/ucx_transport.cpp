// SPDX-License-Identifier: Apache-2.0
#include "ucx_transport.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "make_ucx.hpp"
#include "resources.hpp"

namespace starling::detail {
namespace {

/// Interval of checks of the processes of this host; rounds of progress between reads of the clock.
constexpr std::chrono::milliseconds look_interval{50};
constexpr unsigned rounds_a_look = 64;
/// Calls of `progress()` after which suspected ranks count as failed although traffic with other
/// ranks has not paused.
constexpr unsigned enough_doubt = 1000;

}  // namespace

ucx_transport::ucx_transport(bootstrap& ranks, const options& o,
                             const std::vector<process_location>& processes)
    : m_rank(ranks.rank()), m_options(o), m_farewells(ranks.size(), ranks.rank()),
      m_worker(has_room_for_ucx(processes, ranks.rank())) {
  ucp_am_handler_param_t to{};
  to.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                  UCP_AM_HANDLER_PARAM_FIELD_ARG;
  to.id = active_message;
  to.cb = &on_message;
  to.arg = this;
  check_ucx(ucp_worker_set_am_recv_handler(m_worker.get(), &to), "ucp_worker_set_am_recv_handler");
  const std::vector<std::string> addresses = ranks.all_gather(m_worker.address());
  std::vector<bool> is_near;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto p = std::make_unique<peer>(o.window);
    p->owner = this;
    p->rank = rank;
    p->name = processes[std::size_t(rank)].name();
    is_near.push_back(processes[std::size_t(rank)].is_near());
    if (is_near.back())
      p->process = std::make_unique<process_watch>(processes[std::size_t(rank)].id);
    m_peers.push_back(std::move(p));
  }
  m_heartbeat.emplace(ranks, is_near, o.heartbeat, [this](int r, auto ms) { miss(r, ms); });
  for (auto& p : m_peers) {
    p->code_to = message_code(m_heartbeat->key(), m_rank, p->rank);
    p->code_from = message_code(m_heartbeat->key(), p->rank, m_rank);
    p->tag_code = tag_code(m_heartbeat->key(), p->rank);
  }
  connect(ranks, addresses);
  m_heartbeat->start();
}

void ucx_transport::connect(bootstrap& ranks, const std::vector<std::string>& addresses) {
  const section here(*this);
  try {
    for (auto& p : m_peers)
      p->endpoint.connect(m_worker.get(), addresses[std::size_t(p->rank)], p->process != nullptr,
                          &on_error, p.get());
    // No rank ends before all ranks have connected to it. From here on progress() reports failures.
    static_cast<void>(ranks.all_gather(""));
  } catch (...) {
    close_endpoints();
    throw;
  }
}

ucx_transport::~ucx_transport() {
  m_heartbeat.reset();
  const section here(*this);
  leave();
  // Credit for these messages is not returned: the connections are closed.
  m_received.forget();
  for (auto& p : m_peers) p->early.forget();
}

void ucx_transport::finish() {
  std::vector<message> farewells_to_all;
  for (int to = 0; to < size(); ++to) farewells_to_all.emplace_back(0);
  {
    const std::lock_guard only(m_progress);
    const section here(*this);
    for (const auto& p : m_peers)  // lost ranks first: other ranks may have left because of them
      if (p->state.is_lost()) throw describe(*p);
    for (const auto& p : m_peers)
      if (p->state.has_left()) throw describe(*p);
    m_farewells.begin_round();
  }
  for (const auto& p : m_peers) {
    if (p->rank == m_rank) continue;
    const section here(*this);
    if (p->state.has_failed()) continue;
    message_block* b = farewells_to_all[std::size_t(p->rank)].release();
    b->number = farewells::number;
    count_sending(*p, 1);
    p->waiting.push(b);
    pump(*p);
  }
  for (;;) {
    if (!progress()) std::this_thread::yield();
    const std::lock_guard only(m_progress);
    if (m_lost) throw *m_lost;
    if (m_farewells.are_complete() && m_sending.load(std::memory_order_relaxed) == 0) return;
  }
}

// --- progress

bool ucx_transport::progress() noexcept {
  const std::unique_lock only(m_progress, std::try_to_lock);
  if (!only.owns_lock()) return false;
  message_list received;
  transfer_list over;
  std::vector<rank_failure> lost;
  {
    const section here(*this);
    m_is_armed.store(false, std::memory_order_relaxed);
    // All messages received in earlier calls have been handled, including goodbyes.
    if (m_has_failures) lost = end_failed();
    constexpr int enough = 16;
    bool is_quiet = false;
    for (int i = 0; i < enough && m_received.empty() && !is_quiet && !m_has_left; ++i) {
      is_quiet = ucp_worker_progress(m_worker.get()) == 0;
      begin_submitted();
    }
    send_credit();
    if (++m_rounds % rounds_a_look == 0) look_for_dead();
    if (m_has_suspects && (is_quiet || ++m_doubtful_rounds > enough_doubt)) fail_suspects();
    received = std::move(m_received);
    over = std::move(m_over);
  }
  const bool any = !received.empty() || !over.empty() || !lost.empty();
  if (!m_lost && !lost.empty()) m_lost.emplace(lost.front());
  while (message_block* b = received.pop()) handle(message::adopt(b), b->from, b->number);
  while (transfer* t = over.pop()) end(*t);
  for (const rank_failure& f : lost) tell_failure(f);
  return any;
}

void ucx_transport::handle(message m, int from, unsigned number) noexcept {
  if (number == farewells::number)
    m_farewells.note(from);
  else if (number == leave_number)
    leave(*m_peers[std::size_t(from)], m);
  else if (number < handler_limit)
    deliver(number, from, std::move(m));
}

ucx_transport::goodbye ucx_transport::goodbye_to(const peer& p) const noexcept {
  const peer* const lost = first_lost();
  if (lost == nullptr) return {p.rank, -1};
  const auto silence =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - lost->heard);
  return {lost->rank, lost->cause.silence ? std::int32_t(silence.count()) : -1};
}

/// Returns the first lost rank, which may not have been reported yet, or null.
const ucx_transport::peer* ucx_transport::first_lost() const noexcept {
  if (m_lost) return m_peers[std::size_t(m_lost->rank())].get();
  for (const auto& p : m_peers)
    if (p->state.is_lost()) return p.get();
  return nullptr;
}

/// Handles a goodbye, which follows all messages of the rank. A rank that names no lost rank and
/// leaves without a farewell counts as failed itself.
void ucx_transport::leave(peer& p, const message& why) noexcept {
  goodbye said{m_rank, -1};
  if (why.size() == sizeof said) std::memcpy(&said, why.data(), sizeof said);
  const section here(*this);
  if (m_farewells.has_come(p.rank) || said.lost < 0 || said.lost >= size())
    return react(p, peer_event::goodbye);
  failure_cause cause;
  if (said.silent_ms >= 0) cause = {UCS_ERR_TIMED_OUT, std::chrono::milliseconds(said.silent_ms)};
  if (said.lost == m_rank || said.lost == p.rank)
    return react(p, peer_event::abrupt_goodbye, cause);
  react(p, peer_event::goodbye);
  react(*m_peers[std::size_t(said.lost)], peer_event::named, cause);
}

bool ucx_transport::arm() noexcept {
  if (!m_lock.try_lock()) return false;  // another thread works for the transport
  const section here(*this, std::adopt_lock);
  if (!m_received.empty() || !m_over.empty() || m_has_failures || m_has_suspects) return false;
  if (ucp_worker_arm(m_worker.get()) != UCS_OK) return false;
  m_is_armed.store(true, std::memory_order_seq_cst);
  return !m_credit_is_due.load(std::memory_order_seq_cst);
}

/// Signals the event descriptor, if armed, for work that UCX does not detect.
void ucx_transport::wake() noexcept {
  if (m_is_armed.load(std::memory_order_seq_cst) &&
      m_is_armed.exchange(false, std::memory_order_relaxed))
    static_cast<void>(ucp_worker_signal(m_worker.get()));
}

// --- failed ranks

void ucx_transport::on_error(void* context, ucp_ep_h, ucs_status_t status) noexcept {
  auto& p = *static_cast<peer*>(context);
  p.owner->suspect(p, status);
}

/// Records an error of a rank. A rank of this host fails later, in fail_suspects(): messages that
/// it sent before its end may still arrive, such as a goodbye that names the rank it has lost.
/// Messages of ranks of other hosts have all arrived when UCX reports the error.
void ucx_transport::suspect(peer& p, ucs_status_t why) noexcept {
  if (p.process == nullptr) return fail(p, {why});
  p.error = why;
  react(p, peer_event::error);
}

/// Checks the processes of this host: UCX detects their end only when it accesses their memory.
void ucx_transport::look_for_dead() noexcept {
  m_now = clock::now();
  if (m_now < m_next_look) return;
  m_next_look = m_now + look_interval;
  for (const auto& p : m_peers)
    if (p->process != nullptr && !p->state.has_failed() && p->process->has_ended())
      suspect(*p, UCS_ERR_CONNECTION_RESET);
  if (!m_has_left) drop_unauthenticated_memory();
}

/// Fails the suspects. Called when no message is on its way, or after `enough_doubt` rounds.
void ucx_transport::fail_suspects() noexcept {
  m_has_suspects = false;
  m_doubtful_rounds = 0;
  for (const auto& p : m_peers) {
    if (!p->state.is_suspected()) continue;
    if (take_goodbye(*p))
      m_has_suspects = true;  // until the goodbye is handled
    else
      react(*p, peer_event::pause, {p->error});
  }
}

/// Moves a goodbye that is behind a message which will never arrive to m_received. Destroys the
/// remaining early messages. Returns whether there was a goodbye.
bool ucx_transport::take_goodbye(peer& p) noexcept {
  message_list rest;
  bool is_there = false;
  while (message_block* b = p.early.pop()) {
    const bool is_goodbye = b->number == leave_number;
    (is_goodbye ? m_received : rest).push(b);
    is_there |= is_goodbye;
  }
  rest.forget();
  return is_there;
}

void ucx_transport::miss(int rank, std::chrono::milliseconds silence) noexcept {
  const section here(*this);
  fail(*m_peers[std::size_t(rank)], {UCS_ERR_TIMED_OUT, silence});
}

/// Fails a rank for a message that is invalid or finds no memory, and returns the status by which
/// UCX drops it. The message has the rank's code, so the rank has sent it, unless it was corrupted
/// on the way.
ucs_status_t ucx_transport::refuse(peer& p, const failure_cause& why) noexcept {
  fail(p, why);
  return UCS_OK;
}

/// Applies an event other than `end` to the peer's state, and carries out the action. `why`: the
/// cause of the failure, if the event is one.
void ucx_transport::react(peer& p, peer_event e, const failure_cause& why) noexcept {
  const peer_action action = p.state.apply(e);
  if (action == peer_action::none) return;
  if (action == peer_action::await_pause) {
    m_has_suspects = true;
    return wake();
  }
  p.cause = why;
  if (why.silence) p.heard = clock::now() - *why.silence;
  m_has_failures = true;
  drop_waiting(p);
  // Messages in flight to this rank will not complete.
  m_sending.store(m_sending.load(std::memory_order_relaxed) - std::exchange(p.sending, 0),
                  std::memory_order_relaxed);
  wake();
}

/// Counts a message from outside the job. One line for all of them, so that they cannot flood
/// stderr.
void ucx_transport::refuse_unauthenticated() noexcept {
  if (m_unauthenticated++ == 0)
    std::fprintf(stderr,
                 "starling: rank %d refuses messages of a program that is no rank of this job\n",
                 m_rank);
}

std::vector<rank_failure> ucx_transport::end_failed() {
  std::vector<rank_failure> lost;
  m_has_failures = false;
  for (const auto& p : m_peers) {
    const peer_action action = p->state.apply(peer_event::end);
    if (action == peer_action::none) continue;
    disconnect(*p);
    end_transfers_with(*p, p->cause.status);
    if (action == peer_action::report) lost.push_back(describe(*p));
  }
  return lost;
}

/// Closes the connection by force. The failed rank may still run, only without a connection to
/// other ranks, and its data must not arrive in memory that has been returned to users. (Within a
/// host UCX cannot close by force: there transfers are only cancelled.) UCX completes the requests
/// of the connection within a few rounds.
void ucx_transport::disconnect(peer& p) noexcept {
  constexpr int enough = 100;
  static_cast<void>(drive(p.endpoint.close(true), clock::now() + std::chrono::milliseconds(10)));
  for (int i = 0; i < enough && ucp_worker_progress(m_worker.get()) != 0; ++i) {
  }
}

rank_failure ucx_transport::describe(const peer& p) const {
  const std::string name = fmt::format("rank {} ({})", p.rank, p.name);
  if (p.state.phase() == peer_phase::left) return rank_failure(name + " has left", p.rank);
  std::string why = fmt::format("has gone: {}", ucs_status_string(p.cause.status));
  if (p.cause.silence) why = "gives no sign of life, as if it or the network had stopped";
  if (p.cause.forgery != nullptr)
    why = fmt::format("has sent an invalid message: {}", p.cause.forgery);
  const double silent = std::chrono::duration<double>(clock::now() - p.heard).count();
  return rank_failure(
      fmt::format("{} {}; its last sign of life was {:.1f} s ago", name, why, silent), p.rank);
}

std::unique_ptr<transport> make_ucx_transport(bootstrap& ranks, const transport::options& o) {
  require_open_files(ranks.size());
  return std::make_unique<ucx_transport>(ranks, o, all_processes(ranks));
}

}  // namespace starling::detail
