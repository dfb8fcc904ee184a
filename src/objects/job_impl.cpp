// SPDX-License-Identifier: Apache-2.0
#include "job_impl.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <thread>

#include <starling/objects/callback.hpp>

namespace starling::detail {
namespace {

constexpr unsigned message_number = 0;
constexpr unsigned meeting_number = 1;

job_impl& job_of(const arrival& a) { return static_cast<job_impl&>(*a.space().others()); }

struct end_arrival {
  static void run(arrival& a) {
    input_archive ar = a.arguments();
    const auto status = ar.read<std::int32_t>();
    job_of(a).over(status, ar.read<bool>());
  }
};
/// To rank 0: the run has failed.
struct run_failure_arrival {
  static void run(arrival& a) {
    a.space().end_run(a.arguments().read<portable_error>().revive(a.from()));
  }
};

message copy_of(std::span<const std::byte> bytes) {
  message copy(bytes.size());
  std::ranges::copy(bytes, copy.data());
  return copy;
}

/// The same for processes that run on one kernel since it was started.
std::uint64_t host_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  char name[256] = {};
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return std::hash<std::string>()(boot + name);
}

bool is_counted(const message& m) noexcept {
  remote_header h;
  std::memcpy(&h, m.data(), sizeof h);
  return h.is_counted != 0;
}

}  // namespace

/// Tells a worker what has befallen the job.
class failure_message final : public work_item {
 public:
  explicit failure_message(object_space& space) noexcept
      : work_item(&run, &drop, &call_name), m_space(space) {}
  std::exception_ptr error;
  bool is_of_all = false;  // the others know of it, too

 private:
  static void run(void* item) noexcept {
    const std::unique_ptr<failure_message> m(static_cast<failure_message*>(item));
    if (m->is_of_all)
      m->m_space.end_run_here(m->error);
    else
      m->m_space.end_run(m->error);
  }
  static void drop(void* item) noexcept { delete static_cast<failure_message*>(item); }
  object_space& m_space;
};

void reply_arrival::run(arrival& a) {
  input_archive ar = a.arguments();
  const auto number = ar.read<std::uint64_t>();
  const auto slot = a.space().others()->slot(number);
  if (slot == nullptr) return refuse_second_reply();
  slot->deliver(ar);
  require_end(ar);
  a.space().others()->forget(number);
}

void failure_arrival::run(arrival& a) {
  input_archive ar = a.arguments();
  const auto number = ar.read<std::uint64_t>();
  const auto error = ar.read<portable_error>();
  require_end(ar);
  const auto slot = a.space().others()->slot(number);
  if (slot == nullptr) return refuse_second_reply();
  slot->fail(error.revive(a.from()));
  a.space().others()->forget(number);
}

// --- the meeting

job_impl::job_impl(object_space& space, transport& network)
    : m_space(space), m_network(network), m_met(std::size_t(network.size())),
      m_failure_message(std::make_unique<failure_message>(space)), m_rest(*this, space, m_traffic) {
  m_watch.emplace(space.owner(), network, [this] {
    if (rank() == 0) m_rest.look();
  });
  m_network.set_handler(message_number, &on_message, this);
  m_network.set_handler(meeting_number, &on_meeting, this);
  m_network.set_failure_handler(&on_failure, this);
  try {
    meet();
    m_space.join(*this);
  } catch (...) {
    let_go();
    throw;
  }
  m_is_open = true;
  for (auto& [from, m] : std::exchange(m_early, {})) hand_over(from, std::move(m));
  m_space.owner().set_connected(true);
  m_space.owner().add_poller(*this);
  m_space.owner().notify_pollers();  // workers that sleep have not begun to watch
}

job_impl::~job_impl() = default;

/// What comes when this is gone goes to nobody.
void job_impl::let_go() noexcept {
  const auto drop = [](void*, int, message) noexcept {};
  m_network.set_handler(message_number, drop, nullptr);
  m_network.set_handler(meeting_number, drop, nullptr);
  m_network.set_failure_handler([](void*, const rank_failure&) noexcept {}, nullptr);
}

/// Rank 0 compares what all can be sent, and tells all how many workers each has.
void job_impl::meet() {
  const introduction mine{std::uint32_t(m_space.workers().size()),
                          agree_on_remote_functions(),
                          {host_number(), process_number()}};
  const auto send_packed = [this](int to, const auto&... values) {
    m_network.send(to, meeting_number, copy_of(pack(values...)));
  };
  send_packed(0, mine);
  const auto wait_until = [this](auto is_done) {
    while (!is_done()) {
      if (!m_network.progress()) std::this_thread::yield();
      if (m_failure) std::rethrow_exception(m_failure);
    }
  };
  if (rank() == 0) {
    wait_until(
        [this] { return std::ranges::all_of(m_met, [](const auto& i) { return i.has_value(); }); });
    std::vector<std::uint32_t> workers;
    std::vector<residence> homes;
    std::string refusal;
    for (int r = 0; r < size(); ++r) {
      homes.push_back(m_met[std::size_t(r)]->home);
      workers.push_back(m_met[std::size_t(r)]->workers);
      if (m_met[std::size_t(r)]->functions != mine.functions) refusal += " " + std::to_string(r);
    }
    for (int r = 0; r < size(); ++r) send_packed(r, workers, homes, refusal);
  }
  wait_until([this] { return m_has_met; });
  if (!m_refusal.empty())
    throw usage_error("ranks" + m_refusal +
                      " know other entry methods than rank 0: do all run the same program, and "
                      "load the same libraries before they call run()?");
}

void job_impl::on_meeting(void* self, int from, message m) noexcept {
  auto& j = *static_cast<job_impl*>(self);
  try {
    if (!j.m_met[std::size_t(from)] && j.rank() == 0) {
      j.m_met[std::size_t(from)] = std::get<0>(unpack<std::tuple<introduction>>(m.bytes()));
      return;
    }
    auto [workers, homes, refusal] =
        unpack<std::tuple<std::vector<std::uint32_t>, std::vector<residence>, std::string>>(
            m.bytes());
    if (workers.size() != std::size_t(j.size()) || homes.size() != workers.size())
      throw archive_error("the list of ranks has " + std::to_string(workers.size()) + " of " +
                          std::to_string(j.size()));
    j.m_first_worker.assign(1, 0);
    for (std::size_t r = 0; r < workers.size(); ++r) {
      j.m_first_worker.push_back(j.m_first_worker.back() + workers[r]);
      j.m_rank_of.insert(j.m_rank_of.end(), workers[r], std::uint32_t(r));
    }
    j.m_homes = std::move(homes);
    j.m_refusal = std::move(refusal);
    j.m_has_met = true;
  } catch (...) {
    j.m_failure = std::current_exception();
  }
}

// --- messages

void job_impl::send(int to, message m) noexcept {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  if (is_counted(m)) bump(m_traffic.sent);
  or_end_run(worker_at(0), [&] { m_network.send(to, message_number, std::move(m)); });
}

void job_impl::send_to_others(const message& m) {
  for (int to = 0; to < size(); ++to)
    if (to != rank()) send(to, copy_of(m.bytes()));
}

job::place job_impl::place_of(std::size_t worker) const noexcept {
  const std::uint32_t rank = m_rank_of[worker];
  return {int(rank), static_cast<std::uint16_t>(worker - m_first_worker[rank])};
}

void job_impl::on_message(void* self, int from, message m) noexcept {
  auto& j = *static_cast<job_impl*>(self);
  try {
    j.take(from, std::move(m));
  } catch (...) {
    j.fail(std::current_exception(), false);
  }
}

void job_impl::take(int from, message m) {
  if (m_is_over.load(std::memory_order_relaxed)) return;
  if (m.size() < sizeof(remote_header))
    throw archive_error("a message of rank " + std::to_string(from) + " of " +
                        std::to_string(m.size()) + " bytes, fewer than its header has");
  if (m_is_open)
    hand_over(from, std::move(m));
  else
    m_early.emplace_back(from, std::move(m));
}

void job_impl::hand_over(int from, message m) {
  remote_header h;
  std::memcpy(&h, m.data(), sizeof h);
  const std::size_t workers = m_space.workers().size();
  const bool is_for_all = h.worker == remote_header::every_worker;
  if ((!is_for_all && h.worker >= workers) || h.urgency > std::uint8_t(priority::normal))
    throw archive_error("a message of rank " + std::to_string(from) +
                        " whose header is none that a rank writes");
  const auto give = [this](arrival& a) {
    post(addressed(worker_at(a.worker_index()), a, a.urgency()));
  };
  if (h.is_counted != 0) bump(m_traffic.received);
  if (!is_for_all) return give(*new arrival(m_space, from, std::move(m), h.worker));
  const auto whole = std::make_shared<const message>(std::move(m));
  for (std::uint32_t w = 0; w < workers; ++w) give(*new arrival(m_space, from, whole, w));
}

/// By way of the inbox in any case: who has polled before may have put something there.
void job_impl::post(promise_base& c) const noexcept {
  worker* here = worker::current();
  if (here != nullptr && &here->owner() == &c.home->owner())
    c.home->post(c);
  else
    schedule_from_outside(c);
}

void job_impl::poll(ready_list&) noexcept { static_cast<void>(m_network.progress()); }

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
  m_network.start_receive(t);
}

// --- replies

reply_address job_impl::expect(std::unique_ptr<reply_slot> slot) {
  if (m_is_over.load()) {
    slot->fail(std::make_exception_ptr(operation_cancelled()));
    return {};
  }
  const worker* here = worker::current();
  const bool is_ours = here != nullptr && &here->owner() == &worker_at(0).owner();
  const std::lock_guard guard(m_mutex);
  m_slots.emplace(++m_last_slot, std::move(slot));
  return {rank(), static_cast<std::uint16_t>(is_ours ? here->index() : 0), m_last_slot};
}

std::shared_ptr<reply_slot> job_impl::slot(std::uint64_t number) {
  const std::lock_guard guard(m_mutex);
  const auto found = m_slots.find(number);
  return found == m_slots.end() ? nullptr : found->second;
}

void job_impl::forget(std::uint64_t slot) noexcept {
  std::shared_ptr<reply_slot> gone;  // destroyed without the lock
  const std::lock_guard guard(m_mutex);
  const auto found = m_slots.find(slot);
  if (found == m_slots.end()) return;
  gone = std::move(found->second);
  m_slots.erase(found);
}

// --- the end

void job_impl::end_run(const std::exception_ptr& error) noexcept {
  if (rank() == 0) return;  // who waits for the run has been told, and tells the others
  or_end_run(worker_at(0), [&] {
    send(0,
         make_remote<run_failure_arrival>({0, priority::high, false}, portable_error::of(error)));
  });
}

void job_impl::over(int status, bool regular) noexcept {
  m_space.close_here(regular);
  const std::lock_guard guard(m_mutex);
  m_status = status;
  m_changed.notify_all();
}

int job_impl::serve() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [this] { return m_status || m_failure; });
  if (m_failure) std::rethrow_exception(m_failure);
  return *m_status;
}

void job_impl::tell_end(int status, bool regular) {
  m_space.close_here(true);
  send_to_others(
      make_remote<end_arrival>({0, priority::high, false}, std::int32_t(status), regular));
}

void job_impl::part() {
  const auto leave = [this] {
    m_is_over.store(true);
    m_network.cancel_transfers();
    while (m_network.progress()) {
    }
    m_space.owner().remove_poller(*this);
    m_watch.reset();
    let_go();
    m_space.owner().set_connected(false);
    std::unordered_map<std::uint64_t, std::shared_ptr<reply_slot>> unanswered;
    const std::lock_guard guard(m_mutex);
    unanswered.swap(m_slots);
  };
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

/// Within a poll: others go on from here, on a worker and in `run`.
void job_impl::fail(const std::exception_ptr& error, bool is_of_all) noexcept {
  if (!m_is_open || m_failure_message == nullptr) return;
  failure_message* m = m_failure_message.release();
  m->error = error;
  m->is_of_all = is_of_all;
  post(addressed(worker_at(0), *m, priority::high));
}

}  // namespace starling::detail
