// SPDX-License-Identifier: Apache-2.0
#include <starling/resident/detail/session.hpp>

#include <atomic>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/error.hpp>
#include <starling/resident/detail/host_group.hpp>
#include <starling/resident/error.hpp>

#include "failure_text.hpp"
#include "further_ranks.hpp"
#include "local_program.hpp"
#include "references.hpp"

namespace starling::resident::detail {

struct session::impl final : poller {
  impl(runtime& r, const options& o, program_description p) : rt(r), program(std::move(p)) {
    check_options(o);
    wanted.chosen = o;
  }

  void poll(starling::detail::ready_list& ready) noexcept override {
    const std::lock_guard hold(lock);
    look();
    for (host_wait** link = &waits; *link != nullptr;) {
      host_wait& w = **link;
      if (!is_over(w)) {
        link = &w.next;
        continue;
      }
      *link = w.next;
      wait_count.fetch_sub(1, std::memory_order_release);
      ready.push(*w.waiting);
    }
  }
  [[nodiscard]] std::size_t in_flight() const noexcept override {
    const std::size_t n = wait_count.load(std::memory_order_acquire);
    if (n == 0) return 0;
    const std::lock_guard hold(lock);
    return is_stuck() ? 0 : n;
  }

  // --- called with `lock` held, from here on
  /// Takes new messages of the program and notices its end.
  void look() noexcept {
    if (local == nullptr || has_ended) return;
    if (!is_cancelled && rt.ended_runs() != runs_before) {
      is_cancelled = true;
      local->ask_for_end();
    }
    const bool is_last_look = local->is_over();
    for (std::uint32_t d = 0; d < local->shared().l.devices; ++d) take_from(d);
    has_ended = is_last_look;
  }
  [[nodiscard]] const slot& next_of(std::uint32_t device) const noexcept {
    return local->shared().link->to_host[device][taken[device] & (host_slots - 1)];
  }
  void take_from(std::uint32_t device) noexcept {
    std::uint32_t& n = taken[device];
    const std::uint32_t before = n;
    while (has_come_flagged<host_group>(next_of(device), n + 1)) {
      message m;
      collect_flagged<host_group>(next_of(device), m);
      mailboxes.put(m);
      ++n;
    }
    if (n != before) host_group::store_release(&local->shared().link->host_took[device * 32], n);
  }
  [[nodiscard]] bool is_over(host_wait& wait) noexcept {
    wait.is_satisfied = has_happened(wait);
    return wait.is_satisfied || has_ended || is_cancelled || mailboxes.has_stray();
  }
  /// Returns whether the awaited event has happened; for `end` see `has_ended`.
  [[nodiscard]] bool has_happened(host_wait& wait) noexcept {
    switch (wait.kind) {
      case wait_kind::message:
        return mailboxes.take(wait.mailbox, wait.received);
      case wait_kind::begin:
        return has_begun();
      case wait_kind::room:
        return has_room();
      case wait_kind::quiescence:
        return is_quiescent();
      case wait_kind::end:
        break;
    }
    return false;
  }
  /// Returns whether the schedulers of all devices run.
  [[nodiscard]] bool has_begun() const noexcept {
    const world& w = local->shared();
    for (std::uint32_t d = 0; d < w.l.devices; ++d)
      if (host_group::load_acquire(&w.link->begun_at[d]) == 0) return false;
    return true;
  }
  [[nodiscard]] bool has_room() const noexcept {
    return sent - host_group::load_acquire(&local->shared().link->device_took) < host_slots;
  }
  [[nodiscard]] bool is_quiescent() const noexcept {
    return host_group::load_acquire(&local->shared().link->quiescent_at) == std::uint64_t(sent) + 1;
  }
  /// Returns whether no listed wait can complete unless another host task acts.
  [[nodiscard]] bool is_stuck() const noexcept {
    if (has_ended || !is_quiescent() || local->memory().is_ended()) return false;
    for (const host_wait* wait = waits; wait != nullptr; wait = wait->next)
      if (wait->kind == wait_kind::quiescence || wait->kind == wait_kind::room ||
          wait->kind == wait_kind::begin ||
          (wait->kind == wait_kind::message && mailboxes.has_value(wait->mailbox)))
        return false;
    for (std::uint32_t d = 0; d < local->shared().l.devices; ++d)
      if (has_come_flagged<host_group>(next_of(d), taken[d] + 1)) return false;
    return host_group::load(&local->shared().link->stop_wanted) == 0;
  }
  [[nodiscard]] std::exception_ptr failure_of() const {
    if (mailboxes.has_stray())
      return std::make_exception_ptr(resident_error(mailboxes.text_of_stray()));
    if (local == nullptr) return nullptr;
    if (const auto error = local->memory().error()) return error;
    const host_link& link = *local->shared().link;
    if (host_group::load_acquire(&link.lost) != 0)
      return std::make_exception_ptr(
          resident_error(std::string("a resident program failed: another rank: ") + link.loss));
    if (host_group::load_acquire(&link.failed) == 0) return nullptr;
    return make_error(link.record, program, local->arrays());
  }
  void require_run() const {
    if (is_cancelled) throw usage_error("the run was ended, and with it a resident program");
  }
  void require_running(const char* verb) const {
    if (const auto error = failure_of()) std::rethrow_exception(error);
    if (local == nullptr)
      throw usage_error(fmt::format("{} before the start of a resident program", verb));
    require_run();
    if (has_ended) throw usage_error(fmt::format("{} after the end of a resident program", verb));
  }

  runtime& rt;
  program_description program;
  join_request wanted;                   // arrays may be added until the start
  std::unique_ptr<local_program> local;  // null until the start

  mutable starling::detail::spin_lock lock;
  // Guarded by `lock`, up to `waits`.
  host_mailbox_table mailboxes;
  std::uint32_t taken[max_devices] = {};  // messages to the host, by device
  std::uint32_t sent = 0;                 // messages of the host
  bool has_ended = false;
  bool is_cancelled = false;      // the runtime's run was ended
  std::uint64_t runs_before = 0;  // `runtime::ended_runs` at the start; constant since
  host_wait* waits = nullptr;
  // Length of `waits`. Changed under `lock`, which orders it with the list; a reader without the
  // lock only tests for zero.
  std::atomic<std::size_t> wait_count{0};
};

session::session(runtime& rt, const options& chosen, program_description program)
    : m_impl(std::make_unique<impl>(rt, chosen, std::move(program))) {}

session::~session() {
  if (m_impl->local == nullptr) return;
  stop();
  m_impl->local->memory().join();
  m_impl->rt.remove_poller(*m_impl);
  if (!wait_for_ranks(*m_impl->local)) {
    std::fprintf(stderr,
                 "starling: a rank of a resident program shows no sign of life; the program's "
                 "memory is kept, as its devices may still write there\n");
    static auto& kept = *new std::vector<std::unique_ptr<local_program>>;
    static std::mutex mutex;
    const std::lock_guard hold(mutex);
    kept.push_back(std::move(m_impl->local));
  }
}

std::uint32_t session::add_array(array_request request) {
  if (m_impl->local != nullptr)
    throw usage_error("create: a resident program gets its arrays before it starts");
  auto& requests = m_impl->wanted.arrays;
  if (requests.size() == max_arrays)
    throw usage_error(fmt::format("a resident program has at most {} arrays", max_arrays));
  requests.push_back(std::move(request));
  return static_cast<std::uint32_t>(requests.size() - 1);
}

std::uint32_t session::add_host_mailbox(std::size_t bytes) {
  const std::lock_guard hold(m_impl->lock);
  return m_impl->mailboxes.add(bytes);
}

task<void> session::start() {
  impl& mine = *m_impl;
  if (mine.local != nullptr) throw usage_error("a resident program is started once");
  mine.runs_before = mine.rt.ended_runs();
  mine.wanted.is_traced = mine.rt.tracer().enabled();
  if (mine.wanted.chosen.place == place::device && mine.wanted.chosen.reach == reach::nvshmem)
    co_await initialise_nvshmem(mine.wanted.chosen);
  auto local = std::make_unique<local_program>(mine.rt, mine.program, mine.wanted);
  local->memory().make_link();
  if (mine.wanted.chosen.ranks > 1)
    co_await start_on_ranks(mine.program, mine.wanted, *local);
  else
    local->start();
  mine.local = std::move(local);
  mine.rt.add_poller(mine);
  co_await host_awaiter(*this, wait_kind::begin);  // a launch may return before the schedulers run
}

void session::stop() noexcept {
  if (m_impl->local != nullptr) m_impl->local->ask_for_end();
}

std::uint32_t session::scheduler_count() const noexcept {
  const options& o = m_impl->wanted.chosen;
  return o.ranks * o.devices * o.schedulers;
}

stream session::beside(std::uint32_t number) const {
  const options& o = m_impl->wanted.chosen;
  if (number >= o.devices)
    throw usage_error(
        fmt::format("a stream beside the schedulers of device {} of a resident "
                    "program: a rank of it has {}",
                    number, o.devices));
  const device_set& all = devices(m_impl->rt);
  if (o.place == place::host) return all.device(number % all.count()).make_stream();
  device& one = all.device(number);
  return o.multiprocessors == 0 ? one.make_stream()
                                : divide(one, o.multiprocessors).remainder.make_stream();
}

bool session::try_send(const message& m) {
  {
    const std::lock_guard hold(m_impl->lock);
    m_impl->look();
    m_impl->require_running("a message was sent");
    if (!m_impl->has_room()) return false;
    slot& to = m_impl->local->shared().link->to_device[m_impl->sent & (host_slots - 1)];
    ++m_impl->sent;
    put_flagged<host_group>(to, m, units_of(std::size_t(m.bytes)), m_impl->sent);
  }
  m_impl->local->memory().wake();
  return true;
}

bool session::is_over(host_wait& w) {
  const std::lock_guard hold(m_impl->lock);
  if (m_impl->local == nullptr) m_impl->require_running("something was awaited");
  m_impl->look();
  return m_impl->is_over(w);
}

bool session::enlist(host_wait& w) {
  runtime& rt = m_impl->rt;  // once listed, the wait may end and this object be destroyed
  {
    const std::lock_guard hold(m_impl->lock);
    m_impl->look();
    if (m_impl->is_over(w)) return false;
    host_wait** link = &m_impl->waits;
    while (*link != nullptr) link = &(*link)->next;
    w.next = nullptr;
    *link = &w;
    m_impl->wait_count.fetch_add(1, std::memory_order_seq_cst);
  }
  rt.notify_pollers();
  return true;
}

bool session::withdraw(host_wait& w) noexcept {
  const std::lock_guard hold(m_impl->lock);
  for (host_wait** link = &m_impl->waits; *link != nullptr; link = &(*link)->next) {
    if (*link != &w) continue;
    *link = w.next;
    w.is_withdrawn = true;
    m_impl->wait_count.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

void session::check(const host_wait& w) const {
  if (w.is_withdrawn) starling::detail::throw_interrupted();
  if (w.is_satisfied) return;
  const std::lock_guard hold(m_impl->lock);
  if (const auto error = m_impl->failure_of()) std::rethrow_exception(error);
  m_impl->require_run();
  if (w.kind == wait_kind::begin) throw usage_error("a resident program was ended before it began");
  if (w.kind == wait_kind::message)
    throw usage_error("a resident program ended before it sent the awaited value");
  if (w.kind == wait_kind::quiescence)
    throw usage_error("a resident program was ended before its quiescence");
}

end_report session::report() const {
  device_report all = m_impl->local->report();
  for (const device_report& r : m_impl->local->shared().link->reports) {
    all.sent += r.sent;
    all.done += r.done;
    all.entries_run += r.entries_run;
  }
  return {all.sent, all.sent - all.done, all.entries_run};
}

std::string session::describe(const host_wait& w) const {
  static constexpr const char* events[] = {"the beginning of", "", "room for a message to",
                                           "quiescence of", "the end of"};  // by `wait_kind`
  static_assert(std::size(events) == std::size_t(wait_kind::end) + 1);
  const std::string event = w.kind == wait_kind::message
                                ? fmt::format("a message to host mailbox {} of", w.mailbox)
                                : events[static_cast<int>(w.kind)];
  return event + " a resident program, which has nothing to do any more" +
         describe_waits(m_impl->local->memory(), m_impl->program, m_impl->local->arrays()) +
         "\n   ";
}

void session::require_array(const array_reference& to, std::optional<std::uint32_t> index) const {
  detail::require_array(m_impl->program, m_impl->wanted.arrays, to, index);
}

void session::require_host_mailbox(std::uint32_t number, std::size_t bytes) const {
  const std::lock_guard hold(m_impl->lock);
  m_impl->mailboxes.require(number, bytes);
}

bool host_wait::withdraw() noexcept { return by->withdraw(*this); }

}  // namespace starling::resident::detail
