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
constexpr std::uint64_t patience_ns = 2000;     // before a thief takes a worker's only item
constexpr std::uint64_t nap_ns = 1'000'000;     // sleep without a process-wide barrier
constexpr int pollers_awake = 2;                // so that one goes on when the other finds work

void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace

worker::worker(scheduler_impl& owner, unsigned index, idle_board& board)
    : m_owner(&owner), m_board(&board), m_index(index), m_seen(owner.options().workers),
      m_now(tracer::now()), m_fair(m_now) {
  if (owner.options().workers == 1)
    for (auto& deque : m_deques) deque.set_private();
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
  m_depth = 0;
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

/// Newest first would let two tasks that wake each other starve the rest of this worker: now and
/// then the oldest has its turn.
promise_base* worker::fair_share() noexcept {
  if (m_now - m_fair < fair_ns || m_chaos != nullptr) return nullptr;
  m_fair = m_now;
  return m_deques[static_cast<int>(priority::normal)].steal();
}

inline promise_base* worker::take_local() noexcept {
  if (promise_base* c = take_lane(priority::high)) return c;
  if (promise_base* c = m_deques[0].pop()) return c;
  if (promise_base* c = take_lane(priority::normal)) return c;
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
  if (m_chaos->below(16) == 0) std::this_thread::yield();
  const std::uint32_t dice = m_chaos->below(8);
  if (dice == 0) {
    if (promise_base* c = m_owner->take_injected()) return c;
  } else if (dice < 4) {
    if (promise_base* c = m_deques[1].steal()) return c;  // the oldest instead of the newest
  }
  promise_base* c = take_local();
  if (c != nullptr && !c->pinned && m_chaos->below(8) == 0) {
    m_owner->inject(*c);  // put off, perhaps to another worker
    c = take_local();
  }
  return c;
}

void worker::service() noexcept {
  m_now = tracer::now();
  bump(m_counters.polled);
  m_owner->poll();
  if (promise_base* c = m_owner->take_injected()) push(*c);
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
  return m_deques[0].looks_empty() && m_deques[1].looks_empty() &&
         m_inbox[0].load(std::memory_order_seq_cst) == nullptr &&
         m_inbox[1].load(std::memory_order_seq_cst) == nullptr;
}

promise_base* worker::steal(progress_reading& seen) noexcept {
  for (auto& deque : m_deques) {
    const std::int64_t size = deque.apparent_size();
    if (size <= 0 || (size == 1 && !stands_still(seen))) continue;
    if (promise_base* c = deque.steal()) return c;
  }
  return nullptr;
}

bool worker::stands_still(progress_reading& seen) const noexcept {
  const std::uint64_t resumed = m_counters.resumed.load(std::memory_order_relaxed);
  const std::uint64_t now = tracer::now();
  if (resumed == seen.resumed) return now - seen.since >= patience_ns;
  seen = {resumed, now};
  return false;
}

/// One look at everything that could give work.
promise_base* worker::search() noexcept {
  bump(m_counters.polled);
  m_owner->poll();
  if (promise_base* c = take_local()) return c;
  if (promise_base* c = m_owner->take_injected()) return c;
  const unsigned count = m_owner->worker_count();
  const unsigned start = m_chaos != nullptr ? m_chaos->below(count) : m_index + 1;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned victim = (start + i) % count;
    if (victim == m_index) continue;
    if (promise_base* c = m_owner->at(victim).steal(m_seen[victim])) {
      bump(m_counters.stolen);
      return c;
    }
  }
  return nullptr;
}

bool worker::spin(promise_base*& found) noexcept {
  const std::uint64_t begin = tracer::now();
  const std::uint64_t limit = begin + std::uint64_t(m_owner->options().spin_us) * 1000;
  for (unsigned round = 0; !m_owner->stopping(); ++round) {
    if ((found = search()) != nullptr) return true;
    if (round % 16 == 15) {
      m_now = tracer::now();
      const bool enough = m_board->searching.load(std::memory_order_relaxed) > pollers_awake;
      if (m_now >= limit && (enough || !m_owner->needs_polling())) break;
      // Others may need this core: a polling worker gives way, or it would starve them.
      if (m_now >= limit) std::this_thread::yield();
    }
    for (unsigned i = 0; i < std::min(round, 32u); ++i) pause();
  }
  return false;
}

void worker::idle() noexcept {
  const std::uint64_t begin = m_trace != nullptr ? tracer::now() : 0;
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
    const std::uint64_t deadline = wake_up_time(fenced);
    if (m_rest.load(std::memory_order_seq_cst) == asleep) futex_wait(m_rest, asleep, deadline);
  }
  wake();  // unless somebody else did
  // A waker may stand between its claim and the last store: a few instructions, as with a lock.
  while (m_rest.load(std::memory_order_seq_cst) != static_cast<int>(rest::awake))
    std::this_thread::yield();
  runtime_registry::let_walk_end();
  m_now = tracer::now();
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
