// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/worker.hpp>

#include <string>
#include <thread>

#include "chaos.hpp"
#include "diagnosis.hpp"
#include "futex.hpp"
#include "scheduler_impl.hpp"
#include "worker_idle.hpp"
#include "worker_track.hpp"

namespace starling::detail {

constinit thread_local worker* t_worker = nullptr;

worker* current_worker() noexcept { return t_worker; }

constexpr std::uint32_t service_interval = 64;  // dispatches between two calls of `service`
constexpr std::uint64_t fair_ns = 1'000'000;    // interval at which an oldest item is preferred
constexpr std::uint64_t small_ns = 1000;        // mean length of tasks that are not worth a wake-up

worker::worker(scheduler_impl& owner, unsigned index, idle_board& board)
    : m_owner(&owner), m_board(&board), m_index(index),
      m_idle(std::make_unique<worker_idle>(*this)), m_now(tracer::now()), m_fair(m_now) {
  if (owner.options().workers == 1) m_queues.set_private();
  if (owner.options().chaos) {
    m_chaos = std::make_unique<chaos_source>(chaos_source::mix(*owner.options().chaos + index));
    m_chain.refuse_all();  // chaos mode chooses at random for every transfer
  }
  if (owner.tracer().enabled()) {
    m_trace = std::make_unique<worker_track>(owner.tracer(), "workers",
                                             "worker " + std::to_string(index));
    m_chain.refuse_all();  // the trace has a span for every transfer
  }
  set_observed();
}

worker::~worker() = default;

void worker::run() {
  t_worker = this;
  while (!m_owner->stopping()) {
    promise_base* c = next();
    if (c == nullptr) c = idle();
    if (c != nullptr) dispatch(*c);
  }
  t_worker = nullptr;
}

inline void worker::dispatch(promise_base& c) {
  bump(m_counters.resumed);
  m_chain.begin();
  c.kind.store(await_kind::running, std::memory_order_relaxed);
  if (m_is_observed) [[unlikely]]
    return dispatch_observed(c);
  c.handle().resume();
}

void worker::dispatch_observed(promise_base& c) {
  if (m_trace != nullptr) m_trace->task_begins(c.created.function_name(), tracer::now());
  if (m_meter != nullptr) m_meter->begin_item(c);
  c.handle().resume();
  if (m_meter != nullptr) m_meter->end_item();
  if (m_trace != nullptr) m_trace->task_ends(tracer::now());
}

void worker::set_observed() noexcept { m_is_observed = m_trace != nullptr || is_metered(); }

void worker::begin_metering(load_meter::finder find) {
  if (m_meter == nullptr) m_meter = std::make_unique<load_meter>(find);
  ++m_meter_users;
  m_chain.refuse_all();  // a transfer may be one to a coroutine of another account
  set_observed();
}

void worker::end_metering() noexcept {
  if (--m_meter_users != 0) return;
  m_meter->charge(nullptr);
  if (m_chaos == nullptr && m_trace == nullptr) m_chain.accept_again();
  set_observed();
}

/// Makes this worker the home of `c`, for `transfer`. False: `c` must run on another worker and has
/// been made ready there.
bool worker::adopt(promise_base& c) noexcept {
  if (c.pinned || c.home->m_owner != m_owner) {
    schedule(c);
    return false;
  }
  c.home = this;
  return true;
}

/// The slow path of `transfer`: the chain has become long, or each transfer is traced, metered or
/// subject to chaos mode. Tracing and metering do not change the order of execution; in chaos mode
/// half of the transfers pass through the (shuffled) queues.
std::coroutine_handle<> worker::transfer_slowly(promise_base& c) noexcept {
  const bool through_queue = m_chaos != nullptr && m_chaos->below(2) == 0;
  if (m_chain.is_short() && !through_queue) {
    if (m_trace != nullptr) m_trace->task_follows(c.created.function_name(), tracer::now());
    if (is_metered()) m_meter->follow(c);
    c.kind.store(await_kind::running, std::memory_order_relaxed);
    return c.handle();
  }
  // One message may resume many coroutines, each of which is passed to this function.
  if (promise_base* before = m_chain.cut(c)) [[unlikely]]
    schedule(*before);
  return std::noop_coroutine();
}

promise_base* worker::next() noexcept {
  promise_base* c = m_chain.take_next();
  if (++m_tick % service_interval == 0) [[unlikely]] {
    // An endless chain of continuations must not block completions and other tasks.
    if (c != nullptr) schedule(*std::exchange(c, nullptr));
    service();
    if (promise_base* oldest = fair_share()) return oldest;
  }
  if (m_chaos != nullptr) [[unlikely]]
    return chaos_next(c);
  return c != nullptr ? c : take_local();
}

/// Returns the oldest item of a kind of work at intervals of `fair_ns`, otherwise null. If the
/// worker always took the newest and most urgent item, two tasks that wake each other would starve
/// its remaining work.
promise_base* worker::fair_share() noexcept {
  if (m_now - m_fair < fair_ns || m_chaos != nullptr) return nullptr;
  m_fair = m_now;
  for (unsigned i = 0; i < worker_queues::kinds; ++i)
    if (promise_base* c = oldest_of(m_fair_kind++ % worker_queues::kinds)) return c;
  return nullptr;
}

promise_base* worker::oldest_of(unsigned kind) noexcept {
  if (kind == worker_queues::pinned_normal) empty_inbox(priority::normal);
  return m_queues.oldest_of(worker_queues::kind(kind));
}

bool worker::has_urgent() const noexcept {
  return !m_inbox.looks_empty(std::memory_order_relaxed) || m_queues.has_urgent() ||
         m_owner->shared().has_urgent();
}

promise_base* worker::take_urgent() noexcept {
  if (promise_base* c = take_pinned(priority::high)) return c;
  if (promise_base* c = m_queues.take_high()) return c;
  if (m_owner->shared().has_urgent())
    if (promise_base* c = m_owner->shared().pop_urgent()) return c;
  return take_pinned(priority::normal);
}

inline promise_base* worker::take_pinned(priority p) noexcept {
  empty_inbox(p);
  return m_queues.pinned(p).pop();
}

promise_base* worker::chaos_next(promise_base* cut_off) noexcept {
  if (cut_off != nullptr) schedule(*cut_off);
  if (m_chaos->below(4) == 0) service();
  if (m_chaos->below(4) == 0) keep_newest(m_chaos->below(2) == 0);
  if (m_chaos->below(16) == 0) std::this_thread::yield();
  const std::uint32_t dice = m_chaos->below(8);
  if (dice == 0) {
    if (promise_base* c = m_owner->shared().pop()) return c;
  } else if (dice <= worker_queues::kinds) {
    // The oldest item instead of the newest.
    if (promise_base* c = oldest_of(dice - 1)) return c;
  }
  promise_base* c = take_local();
  if (c != nullptr && !c->pinned && m_chaos->below(8) == 0) {
    m_owner->inject(*c);  // deferred, perhaps to another worker
    c = take_local();
  }
  return c;
}

void worker::service() noexcept {
  if (m_meter != nullptr) [[unlikely]]
    m_meter->lapse();
  const std::uint64_t before = std::exchange(m_now, tracer::now());
  const std::uint64_t resumed = service_interval + m_chain.take_count();
  if (m_chaos == nullptr) keep_newest(m_now - before < small_ns * resumed);
  poll();
  if (promise_base* c = m_owner->shared().pop()) push(*c);
}

void worker::poll() noexcept {
  bump(m_counters.polled);
  m_owner->poll();
}

/// Sets whether ready work stays in the LIFO slot: yes while tasks are small, because these are not
/// worth a theft. When tasks become long, the item in the slot could wait behind one of them: it is
/// moved to the deque, where other workers find it, and a worker is woken if none searches.
void worker::keep_newest(bool keep) noexcept {
  keep = m_owner->worker_count() == 1 || (keep && can_barrier());
  if (promise_base* c = m_queues.keep_newest(keep)) share(*c);
  if (keep && m_board->sleeping.load(std::memory_order_relaxed) > 0 &&
      m_board->watcher.load(std::memory_order_relaxed) == idle_board::no_worker)
    m_owner->wake_searcher();  // that worker becomes the watcher of LIFO slots when it sleeps again
}

void worker::post(promise_base& c) noexcept {
  m_inbox.post(c);
  wake();
}

void worker::post_here(promise_base& c) noexcept {
  empty_inbox(c.priority);
  push_back(c);
}

void worker::wake_another() noexcept { m_owner->wake_searcher(); }

promise_base* worker::idle() noexcept {
  const std::uint64_t begin = tracer::now();
  if (m_meter != nullptr) [[unlikely]]
    m_meter->lapse();
  promise_base* found = m_idle->find_work(begin);
  // Without a trace the clock is not read again, so that a message that was found is handled
  // sooner.
  if (m_trace != nullptr) [[unlikely]]
    m_trace->span(span_kind::idle, "idle", begin, tracer::now());
  return found;
}

void inject_yielded(promise_base& c) noexcept { c.home->owner().inject_yielded(c); }

void resume_on_worker(promise_base& c) noexcept {
  if (c.home == nullptr) return;  // abandoned when its runtime ended
  worker* here = worker::current();
  if (here == nullptr || &here->owner() != &c.home->owner() || (c.pinned && here != c.home))
    return schedule(c);
  c.home = here;
  resume_charged(c);
}

void resume_charged(promise_base& c) noexcept {
  const worker& here = *t_worker;
  load_meter* const meter = here.is_metered() ? here.meter() : nullptr;
  const charged_time measured(meter, meter == nullptr ? nullptr : meter->account_of(c));
  c.kind.store(await_kind::running, std::memory_order_relaxed);
  c.handle().resume();
}

void schedule_from_outside(promise_base& c) noexcept {
  if (runtime_registry::is_forked_copy()) return;  // the child of a fork has no workers
  scheduler_impl& target = c.home->owner();
  const scheduler_impl::visit inside(target);
  if (c.pinned)
    c.home->post(c);
  else
    target.inject(c);
}

void report_unhandled(worker& here, std::exception_ptr error) noexcept {
  here.owner().report_unhandled(std::move(error));
}

void resume_at_quiescence(promise_base& c, bool before_others) {
  c.home->owner().resume_at_quiescence(c, before_others);
}

void end_run(worker& here, std::exception_ptr error) noexcept {
  here.owner().end_run(std::move(error));
}

void throw_outside_runtime(const char* call) {
  throw usage_error(std::string(call) +
                    " on a thread outside the runtime: use the member of starling::runtime or an "
                    "executor instead");
}

namespace {

// Valid for each task_promise<T>: its state has the same first base for every T.
struct any_task : promise_base, state_base {};
static_assert(sizeof(promise_base) % 16 == 0, "then a state aligned to 16 bytes begins there, too");

/// Returns the coroutine that awaits task `c` itself; null for a root.
promise_base* parent_of(promise_base& c) noexcept {
  return c.is_task && !c.spawned ? &static_cast<any_task&>(c).parent() : nullptr;
}

}  // namespace

promise_base& root_of(promise_base& coroutine) noexcept {
  promise_base* root = &coroutine;
  while (promise_base* parent = parent_of(*root)) root = parent;
  return *root;
}

callback* callback_of(promise_base& root) noexcept {
  return root.is_task ? static_cast<any_task&>(root).subscribed_callback() : nullptr;
}

void rehome(promise_base& coroutine, worker& to) noexcept {
  for (promise_base* c = &coroutine; c != nullptr; c = parent_of(*c)) c->home = &to;
}

void throw_not_awaitable(bool moved_from) {
  throw usage_error(moved_from ? "await or spawn of a task that was moved from"
                               : "a task runs once: it has been awaited before");
}

void throw_borrowing_task() {
  throw usage_error(
      "spawn or post of the task of a lambda with captures: the lambda may be gone before the task "
      "reads them. Pass the lambda itself to async, which keeps it, or values as its parameters");
}

std::exception_ptr broken_promise_error() noexcept {
  try {
    return std::make_exception_ptr(broken_promise());
  } catch (...) {
    return std::current_exception();
  }
}

void throw_interrupted() { throw hang_error(t_worker->owner().last_hang()); }

}  // namespace starling::detail
