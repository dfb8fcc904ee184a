// SPDX-License-Identifier: Apache-2.0
// How messages leave a rank, and how arriving messages are passed to its workers.
#include <cstring>
#include <utility>

#include "job_impl.hpp"

namespace starling::detail {
namespace {

/// Handler: the sender of this message has processed `sum` bytes in all. Counted for quiescence,
/// because it makes coroutines ready.
struct remote_report {
  static void run(received_call& a) {
    const auto [sum] = read_arguments<std::uint64_t>(a);
    a.require(static_cast<job_impl*>(a.space().current_job())->flow().take_report(a.from(), sum),
              "it has acknowledged more bytes than it received");
  }
};
bool is_counted(const message& m) noexcept {
  remote_header h{};
  if (m.size() < sizeof h) return false;  // forged: the receiving rank refuses it
  std::memcpy(&h, m.data(), sizeof h);
  return h.is_counted != 0;
}

}  // namespace

void job_impl::send(int to, message m) noexcept {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  if (is_counted(m)) m_flow.sent(to, flow_control::share(m.size()));
  send_numbered(to, message_number, std::move(m));
}

void job_impl::send_load(int to, message m) noexcept {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  bump(m_traffic.loads_sent);
  send_numbered(to, load_number, std::move(m));
}

void job_impl::send_numbered(int to, unsigned number, message m) noexcept {
  try {  // without or_end_run: the hot path
    m_network.send(to, number, std::move(m));
  } catch (...) {
    end_run_and_close(worker_at(0), std::current_exception());
  }
}

void job_impl::require_bounded(int to) const {
  if (m_flow.outstanding(to) < m_send_limit) return;
  throw usage_error("rank " + std::to_string(to) + " has not worked off " +
                    std::to_string(m_flow.outstanding(to) >> 20) +
                    " MiB of messages: co_await ready() of the element before each, or allow more "
                    "by --starling-send-limit");
}

void job_impl::note_processed(int from, std::uint64_t share) noexcept {
  const std::uint64_t sum = m_flow.note_processed(from, share);
  if (sum == 0 || m_is_over.load(std::memory_order_relaxed)) return;
  or_end_run(worker_at(0), [&] { send(from, make_remote<remote_report>({}, sum)); });
}

void job_impl::send_to(std::span<const int> ranks, const message& m) {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  const bool is_worth_a_tree = ranks.size() >= broadcast_tree::fewest_ranks &&
                               m.size() >= broadcast_tree::smallest_load && is_counted(m);
  if (is_worth_a_tree) return m_broadcasts.send(ranks, m);
  for (const int to : ranks) send(to, m.behind(0));
}

job::location job_impl::location_of(std::size_t worker) const noexcept {
  const std::uint32_t rank = m_rank_of[worker];
  return {int(rank), static_cast<std::uint16_t>(worker - m_first_worker[rank])};
}

void job_impl::accept(unsigned number, int from, message m) noexcept {
  try {
    take(number, from, std::move(m));
  } catch (const archive_error& e) {
    refuse(std::make_exception_ptr(
        archive_error("a message of rank " + std::to_string(from) + ": " + e.what())));
  } catch (...) {
    refuse(std::current_exception());
  }
}

/// Counts the message as refused before run_ender's thread handles the failure, because a wave of
/// quiescence_detector may come in between.
void job_impl::refuse(const std::exception_ptr& error) noexcept {
  bump(m_traffic.refused);
  fail(error, false);
}

void job_impl::take(unsigned number, int from, message m) {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  if (!m_is_open) return void(m_early.push_back({number, from, std::move(m)}));
  if (number == message_number) return hand_over(from, std::move(m));
  m_broadcasts.take(from, std::move(m));
  note_handed_over(1);
}

checked_header job_impl::check_header(int from, std::span<const std::byte> bytes) const {
  remote_header h;
  if (bytes.size() < sizeof h)
    throw archive_error("it has " + std::to_string(bytes.size()) + " bytes, fewer than its header");
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.size != static_cast<std::uint32_t>(bytes.size()))
    throw archive_error("it has " + std::to_string(bytes.size()) + " bytes, where " +
                        std::to_string(h.size) + " were sent");
  const std::size_t workers = m_space.workers().size();
  const auto& function = remote_function_at(h.function, remote_function::kind::call);
  const bool is_for_every_worker = h.worker == remote_header::every_worker;
  if (!is_for_every_worker && h.worker >= workers)
    throw archive_error("it is for worker " + std::to_string(h.worker) + " of " +
                        std::to_string(workers));
  if (h.priority > std::uint8_t(priority::normal) || h.is_counted != function.is_counted)
    throw archive_error("its header is invalid");
  return {&function, from, is_for_every_worker ? std::uint16_t{0} : h.worker,
          static_cast<priority>(h.priority), is_for_every_worker};
}

void job_impl::hand_over(int from, message m) {
  checked_header h = check_header(from, std::as_const(m).bytes());
  const auto give = [this](received_call& a) {
    post(addressed(worker_at(a.worker_index()), a, a.priority()));
  };
  received_message whole;
  if (h.function->is_counted) {
    const std::uint64_t share = flow_control::share(m.size());
    whole.receipt = {*this, from, share};
    note_handed_over(share);
  }
  whole.bytes = std::move(m);
  if (h.function->ends_run)
    return m_ender->give(std::make_unique<received_call>(m_space, h, std::move(whole)));
  if (!h.is_for_every_worker) return give(*new received_call(m_space, h, std::move(whole)));
  const std::span<const std::byte> bytes = std::as_const(whole.bytes).bytes();
  // Read before the first call is posted: its worker may lend the bytes before the next
  // received_call is made.
  const auto shared = std::make_shared<shared_received_message>(std::move(whole));
  for (; h.worker < m_space.workers().size(); ++h.worker)
    give(*new received_call(m_space, h, shared, bytes));
}

/// Makes `c` ready on its worker, behind the items that earlier polls of other workers have put
/// into that worker's inbox.
void job_impl::post(promise_base& c) const noexcept {
  worker* here = worker::current();
  if (here == c.home)
    here->post_here(c);
  else if (here != nullptr && &here->owner() == &c.home->owner())
    c.home->post(c);
  else
    schedule_from_outside(c);
}

void job_impl::poll(ready_list&) noexcept {
  m_ender->note_poll();
  static_cast<void>(m_network.progress());
}

}  // namespace starling::detail
