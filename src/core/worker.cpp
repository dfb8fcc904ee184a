// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/worker.hpp>

#include <algorithm>
#include <string>
#include <thread>

#include "chaos.hpp"
#include "diagnosis.hpp"
#include "futex.hpp"
#include "scheduler_impl.hpp"
#include "trace_buffer.hpp"

namespace starling::detail {

constinit thread_local worker* t_worker = nullptr;

worker* current_worker() noexcept { return t_worker; }

namespace {

constexpr std::uint32_t service_interval = 64;  // dispatches between two looks outside
constexpr std::uint64_t fair_ns = 1'000'000;    // how long newer tasks may go before the oldest
constexpr unsigned kinds_of_work = 3;           // that take turns then
constexpr std::uint64_t patience_ns = 2000;     // before a thief takes a worker's only item
constexpr std::uint64_t small_ns = 1000;        // mean length of tasks that are not worth a wake-up
constexpr std::uint64_t tiny_ns = 300;          // what was stolen should last longer than this
constexpr std::uint64_t reluctance_ns = 8000;   // longest pause of a thief that finds tiny tasks
constexpr std::uint64_t nap_ns = 1'000'000;     // sleep without a process-wide barrier
constexpr std::uint64_t first_look_ns = 50'000;    // a sleeper looks at busy workers after this,
constexpr std::uint64_t last_look_ns = 1'000'000;  // then less and less often
constexpr int pollers_awake = 2;                   // so that one goes on when the other finds work

void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace

worker::worker(scheduler_impl& owner, unsigned index, idle_board& board)
    : m_owner(&owner), m_board(&board), m_index(index), m_seen(owner.options().workers),
      m_now(tracer::now()), m_fair(m_now) {
  if (owner.options().workers == 1) {
    for (auto& deque : m_deques) deque.set_private();
    m_keeps_newest = true;
  }
  if (owner.options().chaos) {
    m_chaos = new chaos_source(chaos_source::mix(*owner.options().chaos + index));
    m_depth_limit = 0;  // every hand-over passes through the (shuffled) queues
  }
  if (owner.tracer().enabled()) {
    m_trace = new trace_buffer(owner.tracer(), "workers", "worker " + std::to_string(index));
    m_depth_limit = 0;  // a span for every resumption
  }
}

worker::~worker() {
  delete m_chaos;
  delete m_trace;
}

void worker::run() {
  t_worker = this;
  while (!m_owner->stopping()) {
    if (promise_base* c = next())
      dispatch(*c);
    else
      idle();
  }
  t_worker = nullptr;
}

inline void worker::dispatch(promise_base& c) {
  bump(m_counters.resumed);
  m_transfers += std::exchange(m_depth, 0);
  c.kind.store(await_kind::running, std::memory_order_relaxed);
  if (m_trace != nullptr) [[unlikely]]
    return dispatch_traced(c);
  c.handle().resume();
}

void worker::dispatch_traced(promise_base& c) {
  const char* name = c.created.function_name();  // static storage: outlives the frame
  const std::uint64_t begin = tracer::now();
  c.handle().resume();
  m_trace->span(span_kind::task, name, begin, tracer::now());
}

/// Slow half of `transfer`, for a coroutine that was at home elsewhere. False: it goes on there.
bool worker::adopt(promise_base& c) noexcept {
  if (c.pinned || c.home->m_owner != m_owner) {
    schedule(c);
    return false;
  }
  c.home = this;
  return true;
}

void worker::put_back(promise_base& c) noexcept {
  if (c.pinned)
    push_back(c);
  else
    push(c);
}

promise_base* worker::next() noexcept {
  promise_base* c = std::exchange(m_next, nullptr);
  if (++m_tick % service_interval == 0) [[unlikely]] {
    // A chain of continuations without end must not keep completions and other tasks out.
    if (c != nullptr) put_back(*std::exchange(c, nullptr));
    service();
    if (promise_base* oldest = fair_share()) return oldest;
  }
  if (m_chaos != nullptr) [[unlikely]]
    return chaos_next(c);
  return c != nullptr ? c : take_local();
}

/// Newest and most urgent first would let two tasks that wake each other starve the rest of this
/// worker: now and then the oldest of each kind of work has its turn.
promise_base* worker::fair_share() noexcept {
  if (m_now - m_fair < fair_ns || m_chaos != nullptr) return nullptr;
  m_fair = m_now;
  for (unsigned i = 0; i < kinds_of_work; ++i)
    if (promise_base* c = oldest_of(m_fair_kind++ % kinds_of_work)) return c;
  return nullptr;
}

/// Of all kinds but pinned work of high priority, which is taken first anyway.
promise_base* worker::oldest_of(unsigned kind) noexcept {
  if (kind == 0) return m_deques[0].steal();
  if (kind == 1) return take_lane(priority::normal);
  promise_base* c = m_deques[1].steal();
  return c != nullptr ? c : m_slot.take();
}

/// Whether there is anything but stealable work of normal priority.
inline bool worker::has_urgent() const noexcept {
  const auto arrived = [this](int i) {
    return m_inbox[i].load(std::memory_order_relaxed) != nullptr || !m_lanes[i].empty();
  };
  return arrived(0) || arrived(1) || !m_deques[0].looks_empty();
}

promise_base* worker::take_urgent() noexcept {
  if (promise_base* c = take_lane(priority::high)) return c;
  if (promise_base* c = m_deques[0].pop()) return c;
  return take_lane(priority::normal);
}

inline promise_base* worker::take_local() noexcept {
  if (has_urgent()) [[unlikely]]
    if (promise_base* c = take_urgent()) return c;
  if (promise_base* c = m_slot.take()) return c;
  return m_deques[1].pop();
}

inline promise_base* worker::take_lane(priority p) noexcept {
  const int i = static_cast<int>(p);
  if (m_inbox[i].load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
    // Acquire pairs with the senders' release: everything they did before the post is visible.
    promise_base* newest = m_inbox[i].exchange(nullptr, std::memory_order_acquire);
    promise_base* oldest = nullptr;
    while (newest != nullptr) newest = std::exchange(newest->next, std::exchange(oldest, newest));
    while (oldest != nullptr) {
      promise_base* c = std::exchange(oldest, oldest->next);
      m_lanes[i].push(*c);
    }
  }
  return m_lanes[i].pop();
}

promise_base* worker::chaos_next(promise_base* cut_off) noexcept {
  if (cut_off != nullptr) put_back(*cut_off);
  if (m_chaos->below(4) == 0) service();
  if (m_chaos->below(4) == 0) keep_newest(m_chaos->below(2) == 0);
  if (m_chaos->below(16) == 0) std::this_thread::yield();
  const std::uint32_t dice = m_chaos->below(8);
  if (dice == 0) {
    if (promise_base* c = m_owner->take_injected()) return c;
  } else if (dice <= kinds_of_work) {
    if (promise_base* c = oldest_of(dice - 1)) return c;  // instead of the newest
  }
  promise_base* c = take_local();
  if (c != nullptr && !c->pinned && m_chaos->below(8) == 0) {
    m_owner->inject(*c);  // put off, perhaps to another worker
    c = take_local();
  }
  return c;
}

void worker::service() noexcept {
  const std::uint64_t before = std::exchange(m_now, tracer::now());
  const std::uint64_t resumed = service_interval + std::exchange(m_transfers, 0);
  if (m_chaos == nullptr) keep_newest(m_now - before < small_ns * resumed);
  bump(m_counters.polled);
  m_owner->poll();
  if (promise_base* c = m_owner->take_injected()) push(*c);
}

/// Small tasks are hardly worth a thief's while. When they are not small, an only item may wait
/// behind a long task: it has to be where others see it, and one of them has to be awake.
void worker::keep_newest(bool keep) noexcept {
  m_keeps_newest = m_owner->worker_count() == 1 || (keep && can_barrier());
  if (m_keeps_newest) return;
  if (promise_base* c = m_slot.take()) share(*c);
}

void worker::post(promise_base& c) noexcept {
  auto& inbox = m_inbox[static_cast<int>(c.urgency)];
  c.next = inbox.load(std::memory_order_relaxed);
  // seq_cst: in one order with the sleeper's "asleep" store, so either it sees the arrival or we
  // see it asleep.
  while (!inbox.compare_exchange_weak(c.next, &c, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
  }
  wake();
}

bool worker::wake() noexcept {
  int expected = static_cast<int>(rest::asleep);
  if (m_rest.load(std::memory_order_seq_cst) != expected) return false;
  if (!m_rest.compare_exchange_strong(expected, static_cast<int>(rest::waking))) return false;
  m_board->wakes.fetch_add(1, std::memory_order_seq_cst);
  m_board->sleeping.fetch_sub(1, std::memory_order_seq_cst);
  m_rest.store(static_cast<int>(rest::awake), std::memory_order_seq_cst);
  futex_wake(m_rest);
  return true;
}

void worker::wake_another() noexcept {
  // A worker that already searches will find this item and wake the next one itself.
  if (m_board->searching.load(std::memory_order_relaxed) == 0) m_owner->wake_one();
}

bool worker::looks_empty() const noexcept {
  return m_deques[0].looks_empty() && m_deques[1].looks_empty() && !m_slot.occupied() &&
         m_inbox[0].load(std::memory_order_seq_cst) == nullptr &&
         m_inbox[1].load(std::memory_order_seq_cst) == nullptr;
}

promise_base* worker::steal(progress_reading& seen, std::uint64_t now) noexcept {
  for (auto& deque : m_deques) {
    const std::int64_t size = deque.apparent_size();
    if (size > 1 || (size == 1 && m_slot.occupied()))
      if (promise_base* c = deque.steal()) return c;
  }
  if (!stands_still(seen, now)) return nullptr;
  for (auto& deque : m_deques)
    if (promise_base* c = deque.steal()) return c;
  return m_slot.steal(process_barrier);
}

/// Looks at the counter, which is in its owner's cache, as seldom as it can.
bool worker::stands_still(progress_reading& seen, std::uint64_t now) const noexcept {
  if (now - seen.since < patience_ns) return false;
  const std::uint64_t resumed = m_counters.resumed.load(std::memory_order_relaxed);
  if (resumed == seen.resumed) return true;
  seen = {resumed, now};
  return false;
}

/// One look at everything that could give work.
promise_base* worker::search() noexcept {
  bump(m_counters.polled);
  m_owner->poll();
  if (promise_base* c = take_local()) return c;
  if (promise_base* c = m_owner->take_injected()) return c;
  return steal_from_others();
}

promise_base* worker::steal_from_others() noexcept {
  const std::uint64_t now = tracer::now();
  if (now - m_now < m_reluctance) return nullptr;
  const unsigned count = m_owner->worker_count();
  const unsigned start = m_chaos != nullptr ? m_chaos->below(count) : m_index + 1;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned victim = (start + i) % count;
    if (victim == m_index) continue;
    if (promise_base* c = m_owner->at(victim).steal(m_seen[victim], now)) {
      bump(m_counters.stolen);
      m_theft = now;
      return c;
    }
  }
  return nullptr;
}

/// What moves to another core costs cache misses on both. After a theft that was not worth them the
/// thief leaves the owner alone for a while, twice as long each time.
void worker::weigh_last_theft(std::uint64_t now) noexcept {
  if (m_theft == 0) return;
  const bool tiny = now - std::exchange(m_theft, 0) < tiny_ns;
  m_reluctance = tiny ? std::clamp(2 * m_reluctance, tiny_ns, reluctance_ns) : 0;
}

bool worker::spin(promise_base*& found) noexcept {
  const std::uint64_t limit = m_now + std::uint64_t(m_owner->options().spin_us) * 1000;
  for (unsigned round = 0; !m_owner->stopping(); ++round) {
    if ((found = search()) != nullptr) return true;
    if (round % 16 == 15) {
      const std::uint64_t now = tracer::now();
      const bool enough = m_board->searching.load(std::memory_order_relaxed) > pollers_awake;
      if (now >= limit && (enough || !m_owner->needs_polling())) break;
      // Others may need this core: a polling worker gives way, or it would starve them.
      if (now >= limit) std::this_thread::yield();
    }
    for (unsigned i = 0; i < std::min(round, 32u); ++i) pause();
  }
  return false;
}

void worker::idle() noexcept {
  const std::uint64_t begin = m_now = tracer::now();
  weigh_last_theft(begin);
  m_board->searching.fetch_add(1, std::memory_order_seq_cst);
  promise_base* found = nullptr;
  const bool success = spin(found);
  const bool last = m_board->searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (success) {
    // Where one item was, there may be more: keep one searcher as long as some sleep.
    if (last && m_board->sleeping.load(std::memory_order_relaxed) > 0) m_owner->wake_one();
  } else if (!m_owner->stopping()) {
    sleep();
  }
  m_now = tracer::now();
  if (m_trace != nullptr) m_trace->span(span_kind::idle, "idle", begin, tracer::now());
  if (found != nullptr) dispatch(*found);
}

void worker::sleep() noexcept {
  const int asleep = static_cast<int>(rest::asleep);
  m_rest.store(asleep, std::memory_order_seq_cst);
  m_board->sleeping.fetch_add(1, std::memory_order_seq_cst);
  const bool fenced = process_barrier();
  // Pushes before the barrier are visible now; pushes after it see us on the board.
  if (!m_owner->work_in_sight() && !m_owner->notified() && !must_poll() && !m_owner->stopping()) {
    m_owner->check_quiescence();
    bump(m_counters.slept);
    rest_until_woken(fenced);
  }
  wake();  // unless somebody else did
  // A waker may stand between its claim and the last store: a few instructions, as with a lock.
  while (m_rest.load(std::memory_order_seq_cst) != static_cast<int>(rest::awake))
    std::this_thread::yield();
  runtime_registry::let_walk_end();
  keep_newest(false);  // until it is known how long the tasks are
}

/// Until it is woken, a timer is due, or a busy worker needs help. Of the sleepers the one that
/// fell asleep last looks for that: it stays on the board, and looks less and less often.
void worker::rest_until_woken(bool fenced) noexcept {
  const int asleep = static_cast<int>(rest::asleep);
  const std::uint64_t deadline = wake_up_time(fenced);
  m_board->watcher.store(m_index, std::memory_order_relaxed);
  std::uint64_t look = first_look_ns;
  while (m_rest.load(std::memory_order_seq_cst) == asleep) {
    const std::uint64_t next = tracer::now() + look;
    const bool watches = fenced && m_board->watcher.load(std::memory_order_relaxed) == m_index &&
                         m_board->sleeping.load() < int(m_owner->worker_count());
    if (!watches || (deadline != 0 && deadline <= next))
      return futex_wait(m_rest, asleep, deadline);
    futex_wait(m_rest, asleep, next);
    if (somebody_needs_help()) return;
    look = std::min(2 * look, last_look_ns);
  }
}

bool worker::somebody_needs_help() noexcept {
  const std::uint64_t now = tracer::now();
  for (unsigned i = 0; i < m_owner->worker_count(); ++i)
    if (i != m_index && m_owner->at(i).needs_help(m_seen[i], now)) return true;
  return false;
}

bool worker::must_poll() const noexcept {
  return m_board->searching.load(std::memory_order_seq_cst) < pollers_awake &&
         m_owner->needs_polling();
}

std::uint64_t worker::wake_up_time(bool fenced) const noexcept {
  const std::uint64_t deadline = m_owner->next_deadline();
  const bool all_asleep = m_board->sleeping.load() == int(m_owner->worker_count());
  if (fenced || all_asleep) return deadline;
  const std::uint64_t nap = tracer::now() + nap_ns;
  return deadline == 0 ? nap : std::min(nap, deadline);
}

void inject(worker& home, promise_base& c) noexcept { home.owner().inject(c); }

void report_unhandled(worker& here, std::exception_ptr error) noexcept {
  here.owner().report_unhandled(std::move(error));
}

void throw_outside_runtime(const char* call) {
  throw usage_error(std::string(call) +
                    " on a thread outside the runtime: use the member of starling::runtime or an "
                    "executor instead");
}

void throw_not_awaitable(bool moved_from) {
  throw usage_error(moved_from ? "await or spawn of a task that was moved from"
                               : "a task runs once: it has been awaited before");
}

void throw_interrupted() { throw hang_error(t_worker->owner().last_hang()); }

}  // namespace starling::detail
