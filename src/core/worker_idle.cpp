// SPDX-License-Identifier: Apache-2.0
// Locks: an idle worker holds none while it searches and sleeps. The functions of the scheduler
// that it calls (`poll`, `needs_polling`, `next_deadline`, `check_quiescence`) release those they
// take.
#include "worker_idle.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "chaos.hpp"
#include "diagnosis.hpp"
#include "futex.hpp"
#include "pause.hpp"
#include "scheduler_impl.hpp"

namespace starling::detail {

constexpr std::uint64_t tiny_ns = 300;  // minimum length of tasks that are worth a theft
// Longest pause of a thief that finds tiny tasks.
constexpr std::uint64_t max_theft_pause_ns = 8000;
constexpr std::uint64_t nap_ns = 1'000'000;      // longest sleep without a process-wide barrier
constexpr std::uint64_t first_look_ns = 50'000;  // time until the watcher first checks busy workers
constexpr std::uint64_t last_look_ns = 1'000'000;  // longest interval between the watcher's checks
constexpr int short_look = 16;                     // rounds of polling for messages alone
// Most pauses between two searches, if only this process makes work.
constexpr unsigned long_pause = 32;
constexpr unsigned short_pause = 1;  // the same if other processes may send messages
// Workers that go on polling: if one finds work, the second still polls.
constexpr int pollers_awake = 2;

// --- sleep_state

void sleep_state::wait_until(std::uint64_t deadline) noexcept {
  futex_wait(m_state, asleep, deadline);
}

/// Ends the sleep. False: another thread does so.
bool sleep_state::end_sleep(idle_board& board) noexcept {
  int expected = asleep;
  if (!m_state.compare_exchange_strong(expected, waking)) return false;
  board.wakes.fetch_add(1, std::memory_order_seq_cst);
  board.sleeping.fetch_sub(1, std::memory_order_seq_cst);
  m_state.store(awake, std::memory_order_seq_cst);
  futex_wake(m_state);
  return true;
}

void sleep_state::wake_up(idle_board& board) noexcept {
  wake(board);  // no effect if another thread has woken the worker
  // The waking thread may be between its claim and its last store: a few instructions, as with a
  // lock.
  while (m_state.load(std::memory_order_seq_cst) != awake) std::this_thread::yield();
}

// --- thefts

promise_base* worker::steal(progress_reading& seen, std::uint64_t now) noexcept {
  if (promise_base* c = m_queues.steal_spare()) return c;
  return m_counters.stands_still(seen, now) ? m_queues.steal_last(process_barrier) : nullptr;
}

void theft_pause::ran_out(std::uint64_t now) noexcept {
  if (m_theft == 0) return;
  const bool tiny = now - std::exchange(m_theft, 0) < tiny_ns;
  m_length = tiny ? std::clamp(2 * m_length, tiny_ns, max_theft_pause_ns) : 0;
  m_end = now + m_length;
}

promise_base* worker_idle::steal_from_any() noexcept {
  const unsigned count = m_owner.worker_count();
  if (count == 1) return nullptr;
  const std::uint64_t now = tracer::now();
  if (!m_pause.is_over(now)) return nullptr;
  const auto& chaos = m_self.m_chaos;
  const unsigned start = chaos != nullptr ? chaos->below(count) : m_self.index() + 1;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned victim = (start + i) % count;
    if (victim == m_self.index()) continue;
    if (promise_base* c = m_owner.at(victim).steal(m_seen[victim], now)) {
      bump(m_self.m_counters.stolen);
      m_pause.stolen(now);
      return c;
    }
  }
  return nullptr;
}

// --- the search

worker_idle::worker_idle(worker& self)
    : m_self(self), m_owner(self.owner()), m_board(m_owner.board()),
      m_seen(m_owner.options().workers) {}

promise_base* worker_idle::find_work(std::uint64_t begin) noexcept {
  m_pause.ran_out(begin);
  m_self.m_now = begin;  // pollers read it as coarse_now()
  promise_base* found = look_around();
  while (found == nullptr && !m_owner.stopping()) {
    const bool watched = sleep();
    found = m_self.take_local();
    if (found != nullptr)
      hand_over(watched);
    else
      found = look_around();
  }
  return found;
}

promise_base* worker_idle::look_around() noexcept {
  // If a message ended the last search, another message is likely to follow soon. This polling does
  // not detect messages of other processes.
  if (m_awaits_messages && !m_owner.is_connected())
    if (promise_base* c = await_message()) return c;
  m_board.searching.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t begin = m_self.m_now;
  promise_base* found = spin();
  if (m_owner.is_connected()) m_patience.polled(found != nullptr, m_self.m_now - begin, spin_ns());
  const bool last = m_board.searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  // There may be more work: one worker keeps searching as long as some workers sleep.
  if (found != nullptr && last && m_board.sleeping.load(std::memory_order_relaxed) > 0)
    m_owner.wake_one();
  m_awaits_messages = found != nullptr && found->pinned;
  return found;
}

/// Polls briefly for sent work only. Unlike a search, which accesses data that all workers share,
/// it does not slow down the other workers.
promise_base* worker_idle::await_message() noexcept {
  for (int i = 0; i < short_look; ++i) {
    if (m_self.has_urgent())
      if (promise_base* c = m_self.take_urgent()) return c;
    pause();
  }
  return nullptr;
}

std::uint64_t worker_idle::spin_ns() const noexcept {
  return std::uint64_t(m_owner.options().spin_us) * 1000;
}

promise_base* worker_idle::spin() noexcept {
  const bool is_connected = m_owner.is_connected();
  const std::uint64_t limit =
      m_self.m_now + (is_connected ? m_patience.limit(spin_ns()) : spin_ns());
  // Only a poll detects a message of another process, so the pause adds to the message's latency.
  const unsigned longest = is_connected ? short_pause : long_pause;
  for (unsigned round = 0; !m_owner.stopping(); ++round) {
    if (promise_base* c = search()) return c;
    if (round % 16 == 15) {
      m_self.m_now = tracer::now();
      const bool enough = m_board.searching.load(std::memory_order_relaxed) > pollers_awake;
      if (m_self.m_now >= limit && (enough || !m_owner.needs_polling())) break;
      // Other threads may need this core: a worker that polled for `limit` yields to them.
      if (m_self.m_now >= limit) std::this_thread::yield();
    }
    for (unsigned i = 0; i < std::min(round, longest); ++i) pause();
  }
  return nullptr;
}

/// Searches all sources of work once: pollers, own queues, shared queue, other workers.
promise_base* worker_idle::search() noexcept {
  m_self.poll();
  if (promise_base* c = m_self.take_local()) return c;
  if (promise_base* c = m_owner.shared().pop()) return c;
  return steal_from_any();
}

// --- the sleep

bool worker_idle::sleep() noexcept {
  const std::uint64_t begin = tracer::now();
  // Becomes the watcher before it announces its sleep: otherwise a busy worker that finds no
  // watcher would wake it again.
  unsigned none = idle_board::no_worker;
  m_board.watcher.compare_exchange_strong(none, m_self.index());
  m_self.m_sleep.fall_asleep(m_board);
  const bool fenced = process_barrier();
  // Pushes before the barrier are visible now; pushes after it see this worker on the board.
  const bool sleeps = may_sleep();
  if (sleeps) {
    m_owner.check_quiescence();
    bump(m_self.m_counters.slept);
    sleep_until_woken(fenced);
  }
  m_self.m_sleep.wake_up(m_board);
  runtime_registry::let_walk_end();
  m_self.keep_newest(false);  // until the length of the tasks is known
  m_self.m_sleep.set_alarm(0);
  const bool watched = end_watch();
  m_self.m_now = tracer::now();
  if (sleeps) m_patience.slept(m_self.m_now - begin, spin_ns());
  return watched;
}

bool worker_idle::may_sleep() const noexcept {
  return m_self.looks_empty() && !m_owner.shared_work_in_sight() && !m_owner.notified() &&
         !m_owner.stopping() &&
         (m_board.searching.load(std::memory_order_seq_cst) >= pollers_awake ||
          !m_owner.needs_polling());
}

/// Called when this worker was woken and found work in its own queues. Wakes another worker to
/// search in its place if there is shared work, a notification or a deadline without an alarm, or
/// if this worker was the watcher.
void worker_idle::hand_over(bool watched) noexcept {
  if (watched || m_owner.shared_work_in_sight() || m_owner.notified() || !m_owner.alarm_is_set())
    m_owner.wake_searcher();
}

/// Sleeps until it is woken, a timer is due, or a busy worker needs help. One sleeping worker, the
/// watcher, checks at growing intervals whether a busy worker needs help, as long as other workers
/// are awake. Meanwhile it still counts as sleeping.
void worker_idle::sleep_until_woken(bool fenced) noexcept {
  sleep_state& state = m_self.m_sleep;
  const std::uint64_t deadline = wake_up_time(fenced);
  state.set_alarm(deadline);
  const bool watches = fenced && m_board.watcher.load(std::memory_order_relaxed) == m_self.index();
  std::uint64_t look = first_look_ns;
  while (state.is_asleep()) {
    const std::uint64_t next = tracer::now() + look;
    const bool alone = !watches || m_owner.all_asleep();
    if (alone) static_cast<void>(end_watch());
    if (alone || (deadline != 0 && deadline <= next)) return state.wait_until(deadline);
    state.wait_until(next);
    if (any_needs_help()) return;
    look = std::min(2 * look, last_look_ns);
  }
}

/// Ends this worker's role as the watcher of busy workers. Returns whether it was the watcher.
bool worker_idle::end_watch() noexcept {
  if (m_board.watcher.load(std::memory_order_relaxed) != m_self.index()) return false;
  m_board.watcher.store(idle_board::no_worker, std::memory_order_seq_cst);
  return true;
}

bool worker_idle::any_needs_help() noexcept {
  const std::uint64_t now = tracer::now();
  for (unsigned i = 0; i < m_owner.worker_count(); ++i)
    if (i != m_self.index() && m_owner.at(i).needs_help(m_seen[i], now)) return true;
  return false;
}

std::uint64_t worker_idle::wake_up_time(bool fenced) const noexcept {
  const std::uint64_t deadline = m_owner.next_deadline();
  if (fenced || m_owner.all_asleep()) return deadline;
  const std::uint64_t nap = tracer::now() + nap_ns;
  return deadline == 0 ? nap : std::min(nap, deadline);
}

}  // namespace starling::detail
