// SPDX-License-Identifier: Apache-2.0
#include "job_impl.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/detail/module_options.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/entry_message.hpp>
#include <starling/objects/exit.hpp>

#include "number_option.hpp"

namespace starling::detail {
namespace {

job_impl& job_of(const received_call& a) {
  return static_cast<job_impl&>(*a.space().current_job());
}

struct remote_end {
  static constexpr bool is_counted = false;
  static constexpr bool ends_run = true;
  static void run(received_call& a) {
    const auto [status, regular, lost] =
        read_arguments<std::int32_t, bool, std::optional<portable_error>>(a);
    a.require(a.from() == 0 && a.space().rank() != 0, "rank 0 alone ends the run");
    job_of(a).over(status, regular, lost ? lost->revive(a.from()) : nullptr);
  }
};
/// Handler on rank 0: the run has failed on another rank.
struct remote_run_failure {
  static constexpr bool is_counted = false;
  static constexpr bool ends_run = true;
  static void run(received_call& a) {
    const auto [error] = read_arguments<portable_error>(a);
    const std::exception_ptr revived = error.revive(a.from());
    job_of(a).note_told(revived);
    a.space().end_run(revived);
    job_of(a).tell_end_again(a.from(), revived);
  }
};

constexpr option_entry entries[] = {{"send-limit", "objects", "MIB", "4096",
                                     "most memory of messages that their rank has not processed"}};
[[gnu::init_priority(101)]] module_options registered(entries);

/// @throws option_error
std::uint64_t send_limit_of(const runtime_options& options) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  const auto mebibytes =
      number_option<std::uint32_t>(options, "send-limit", "4096", 1, most,
                                   "is not a number of MiB from 1 to " + std::to_string(most));
  return std::uint64_t{mebibytes} << 20;
}

std::vector<int> all_but(int rank, int size) {
  std::vector<int> result;
  for (int r = 0; r < size; ++r)
    if (r != rank) result.push_back(r);
  return result;
}

}  // namespace

void reply_delivery::run(received_call& a) {
  input_archive ar = a.arguments();
  const auto number = ar.read<std::uint64_t>();
  auto slot = a.space().current_job()->take_slot(number);
  if (slot == nullptr) throw_second_reply();
  try {
    slot->deliver(ar);
  } catch (...) {  // the waiter must receive the error, not broken_promise
    a.space().current_job()->put_back(number, std::move(slot));
    throw;
  }
  require_end(ar);
}

void failure_delivery::run(received_call& a) {
  const auto [number, error] = read_arguments<std::uint64_t, portable_error>(a);
  const auto slot = a.space().current_job()->take_slot(number);
  if (slot == nullptr) throw_second_reply();
  slot->fail(error.revive(a.from()));
}

// --- the beginning

job_impl::job_impl(object_space& space, transport& network, bool is_of_process)
    : m_space(space), m_network(network), m_is_of_process(is_of_process),
      m_other_ranks(all_but(network.rank(), network.size())), m_flow(network.size()),
      m_send_limit(send_limit_of(space.owner().options())), m_broadcasts(*this, space),
      m_met(std::size_t(network.size())), m_quiescence(*this, space, m_traffic, m_flow) {
  m_watch.emplace(space.owner(), network, [this] {
    if (rank() == 0) m_quiescence.look();
  });
  m_network.set_handler(message_number, &on_message<message_number>, this);
  m_network.set_handler(load_number, &on_message<load_number>, this);
  m_network.set_handler(meeting_number, &on_meeting, this);
  m_network.set_failure_handler(&on_failure, this);
  try {
    meet();
    m_ender.emplace(m_space, m_network);
    m_space.join(*this);
  } catch (...) {
    let_go();
    throw;
  }
  m_is_open = true;
  for (early_message& m : std::exchange(m_early, {})) accept(m.number, m.from, std::move(m.bytes));
  m_space.owner().set_connected(true);
  m_space.owner().add_poller(*this);
  // Wakes the workers that fell asleep before, and so have not started the network watch.
  m_space.owner().notify_pollers();
  m_ender->watch_workers();  // only now, so that early messages are accepted before later ones
}

job_impl::~job_impl() = default;

/// Replaces the transport's handlers, so that messages which arrive later are dropped.
void job_impl::let_go() noexcept {
  const auto drop = [](void*, int, message) noexcept {};
  for (const unsigned number : {message_number, load_number, meeting_number})
    m_network.set_handler(number, drop, nullptr);
  m_network.set_failure_handler([](void*, const rank_failure&) noexcept {}, nullptr);
}

// --- memory

std::optional<memory_reach> job_impl::reach_of_memory(int rank) const noexcept {
  const residence& here = m_homes[std::size_t(this->rank())];
  const residence& there = m_homes[std::size_t(rank)];
  if (here.host != there.host) return std::nullopt;
  return here.process == there.process ? memory_reach::process : memory_reach::host;
}

void job_impl::start_send(transfer& t) {
  if (m_is_over.load(std::memory_order_relaxed))
    return t.done(t, std::make_exception_ptr(operation_cancelled()));
  m_network.start_send(t);
}

void job_impl::start_receive(transfer& t) {
  bump(m_traffic.transfers_begun);
  if (m_is_over.load(std::memory_order_relaxed))
    return t.done(t, std::make_exception_ptr(operation_cancelled()));
  try {
    m_network.start_receive(t);
  } catch (...) {
    note_received();
    throw;
  }
}

// --- replies

reply_address job_impl::expect(std::unique_ptr<reply_slot> slot) {
  const worker* here = worker::current();
  const bool is_ours = here != nullptr && &here->owner() == &worker_at(0).owner();
  std::unique_lock lock(m_mutex);
  if (m_is_over.load()) {  // under the lock: `leave` takes all slots once, after it has set this
    lock.unlock();
    slot->fail(std::make_exception_ptr(operation_cancelled()));
    return {};
  }
  m_slots.emplace(++m_last_slot, std::move(slot));
  return {rank(), static_cast<std::uint16_t>(is_ours ? here->index() : 0), m_last_slot};
}

std::unique_ptr<reply_slot> job_impl::take_slot(std::uint64_t number) {
  const std::lock_guard guard(m_mutex);
  auto kept = m_slots.extract(number);
  return kept.empty() ? nullptr : std::move(kept.mapped());
}

void job_impl::put_back(std::uint64_t number, std::unique_ptr<reply_slot> slot) {
  const std::lock_guard guard(m_mutex);
  if (!m_is_over.load())
    // Otherwise the slot is destroyed here, as in `leave`.
    m_slots.emplace(number, std::move(slot));
}

// --- the end

void job_impl::end_run(const std::exception_ptr& error) noexcept {
  if (rank() == 0) return;  // the thread in `run` has the error and notifies the other ranks
  // Printed first: the user sees the error even if the message to rank 0 is delayed.
  if (m_is_of_process && !m_has_told_error.exchange(true) && !is_a<run_exited>(error))
    std::fprintf(stderr, "starling: rank %d: %s\n", rank(), error_text(error).c_str());
  or_end_run(worker_at(0),
             [&] { send(0, make_remote<remote_run_failure>({}, portable_error::of(error))); });
}

void job_impl::over(int status, bool regular, std::exception_ptr lost) noexcept {
  m_space.close_here(regular);
  if (!regular) m_quiescence.release_all();
  const std::lock_guard guard(m_mutex);
  if (!m_status) m_status = status;  // the first end counts: a repeated one may have another status
  if (!m_failure) m_failure = std::move(lost);
  m_changed.notify_all();
}

int job_impl::serve() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [this] { return m_status || m_failure; });
  if (!m_failure) return *m_status;
  const std::exception_ptr failure = m_failure;
  lock.unlock();
  // The thread of run_ender may come too late: what still waits would be reported as a hang.
  m_space.close_here(false);
  std::rethrow_exception(failure);
}

void job_impl::tell_end(int status, bool regular) {
  m_space.close_here(regular);
  if (!regular) m_quiescence.release_all();
  m_end_status.store(status);
  m_end_is_regular.store(regular);
  m_has_told_end.store(true);
  send_to_other_ranks(make_end(status, regular));
}

void job_impl::tell_end_again(int rank, const std::exception_ptr& error) {
  if (rank == 0 || !m_has_told_end.load()) return;
  // The repeated message may be the first to arrive. So it has the same status, unless the run has
  // ended regularly and failed on that rank nevertheless.
  const int status = m_end_status.load();
  const bool has_failed = m_end_is_regular.load() && !is_a<run_exited>(error);
  send(rank, make_end(status == 0 && has_failed ? EXIT_FAILURE : status, false));
}

/// Makes the message that ends the run. It includes the failure of a rank, if there is one, because
/// the other ranks may not have noticed it yet.
message job_impl::make_end(int status, bool regular) {
  std::optional<portable_error> lost;
  {
    const std::lock_guard guard(m_mutex);
    if (m_failure && !regular) lost = portable_error::of(m_failure);
  }
  return make_remote<remote_end>({}, std::int32_t(status), regular, lost);
}

void job_impl::leave() {
  const auto leave = [this] {
    m_is_over.store(true);
    m_ender->stop();
    m_broadcasts.drop_left_over();
    m_space.owner().remove_poller(*this);  // from now on only this thread polls
    m_network.cancel_transfers();
    while (m_network.progress()) {
    }
    m_watch.reset();
    let_go();
    m_space.owner().set_connected(false);
    std::unordered_map<std::uint64_t, std::unique_ptr<reply_slot>> unanswered;
    const std::lock_guard guard(m_mutex);
    unanswered.swap(m_slots);
  };
  m_broadcasts.close();  // no message may follow this rank's last one
  try {
    if (!has_lost_a_rank()) m_network.finish();
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

bool job_impl::has_lost_a_rank() {
  const std::lock_guard guard(m_mutex);
  return m_failure != nullptr;
}

void job_impl::on_failure(void* self, const rank_failure& what) noexcept {
  auto& j = *static_cast<job_impl*>(self);
  {
    const std::lock_guard guard(j.m_mutex);
    if (!j.m_failure) j.m_failure = std::make_exception_ptr(what);
    j.m_changed.notify_all();
  }
  j.fail(std::make_exception_ptr(what), true);
}

/// Called within a poll: run_ender's thread handles the failure.
void job_impl::fail(const std::exception_ptr& error, bool is_of_all) noexcept {
  if (m_is_open && !m_is_over.load()) m_ender->fail(error, is_of_all);
}

void job_impl::note_told(const std::exception_ptr& error) noexcept {
  const std::lock_guard guard(m_mutex);
  if (m_is_of_process && !m_told_error) m_told_error = error;
}

bool job_impl::has_been_told(const std::exception_ptr& error) noexcept {
  const std::lock_guard guard(m_mutex);
  return m_told_error != nullptr && m_told_error == error;
}

}  // namespace starling::detail
