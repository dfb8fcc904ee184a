// SPDX-License-Identifier: Apache-2.0
// The idle worker: it steals from other workers, searches for work, sleeps.
#include <algorithm>
#include <thread>

#include <starling/core/detail/worker.hpp>

#include "chaos.hpp"
#include "diagnosis.hpp"
#include "futex.hpp"
#include "pause.hpp"
#include "scheduler_impl.hpp"
#include "worker_track.hpp"

namespace starling::detail {

namespace {

constexpr std::uint64_t patience_ns = 2000;  // before a thief takes a worker's only item
constexpr std::uint64_t tiny_ns = 300;       // minimum length of tasks that are worth a theft
constexpr std::uint64_t max_theft_pause_ns = 8000;  // of a thief that finds tiny tasks
constexpr std::uint64_t nap_ns = 1'000'000;         // longest sleep without a process-wide barrier
constexpr std::uint64_t first_look_ns = 50'000;    // the watcher first checks busy workers after it
constexpr std::uint64_t last_look_ns = 1'000'000;  // longest interval between the watcher's checks
constexpr int short_look = 16;                     // rounds of polling for messages alone
constexpr unsigned long_pause = 32;                // between searches for work of this process
constexpr unsigned short_pause = 1;                // if other processes may send work
constexpr int pollers_awake = 2;                   // if one finds work, the second still polls

}  // namespace

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

/// Returns whether this worker has resumed nothing for `patience_ns`. Rarely reads the counter,
/// which is in its owner's cache.
bool worker::stands_still(progress_reading& seen, std::uint64_t now) const noexcept {
  if (now - seen.since < patience_ns) return false;
  const std::uint64_t resumed = m_counters.resumed.load(std::memory_order_relaxed);
  if (resumed == seen.resumed) return true;
  seen = {resumed, now};
  return false;
}

promise_base* worker::steal_from_any() noexcept {
  const unsigned count = m_owner->worker_count();
  if (count == 1) return nullptr;
  const std::uint64_t now = tracer::now();
  if (now < m_next_theft) return nullptr;
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

/// Moving a task to another core costs cache misses on both cores. After the theft of a tiny task
/// this worker steals nothing for a pause, which doubles each time.
void worker::weigh_last_theft(std::uint64_t now) noexcept {
  if (m_theft == 0) return;
  const bool tiny = now - std::exchange(m_theft, 0) < tiny_ns;
  m_theft_pause = tiny ? std::clamp(2 * m_theft_pause, tiny_ns, max_theft_pause_ns) : 0;
  m_next_theft = now + m_theft_pause;
}

promise_base* worker::spin() noexcept {
  const bool is_connected = m_owner->is_connected();
  const std::uint64_t chosen = std::uint64_t(m_owner->options().spin_us) * 1000;
  const std::uint64_t limit = m_now + (is_connected ? m_patience.limit(chosen) : chosen);
  // Only a poll detects a message of another process, so the pause adds to the message's latency.
  const unsigned longest = is_connected ? short_pause : long_pause;
  for (unsigned round = 0; !m_owner->stopping(); ++round) {
    if (promise_base* c = search()) return c;
    if (round % 16 == 15) {
      m_now = tracer::now();
      const bool enough = m_board->searching.load(std::memory_order_relaxed) > pollers_awake;
      if (m_now >= limit && (enough || !m_owner->needs_polling())) break;
      // Other threads may need this core: a worker that polled for `limit` yields to them.
      if (m_now >= limit) std::this_thread::yield();
    }
    for (unsigned i = 0; i < std::min(round, longest); ++i) pause();
  }
  return nullptr;
}

/// Polls briefly for sent work only. Unlike a search, which accesses data that all workers share,
/// it does not slow down the other workers.
promise_base* worker::await_message() noexcept {
  for (int i = 0; i < short_look; ++i) {
    if (has_urgent())
      if (promise_base* c = take_urgent()) return c;
    pause();
  }
  return nullptr;
}

promise_base* worker::look_around() noexcept {
  // If a message ended the last search, another message is likely to follow soon. This polling does
  // not detect messages of other processes.
  if (m_awaits_messages && !m_owner->is_connected())
    if (promise_base* c = await_message()) return c;
  m_board->searching.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t begin = m_now;
  promise_base* found = spin();
  if (m_owner->is_connected()) m_patience.polled(found != nullptr, m_now - begin);
  const bool last = m_board->searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  // There may be more work: one worker keeps searching as long as some workers sleep.
  if (found != nullptr && last && m_board->sleeping.load(std::memory_order_relaxed) > 0)
    m_owner->wake_one();
  m_awaits_messages = found != nullptr && found->pinned;
  return found;
}

bool worker::sleep() noexcept {
  const int asleep = static_cast<int>(sleep_state::asleep);
  // Before it is seen asleep, or a busy worker that finds no watcher would wake it again.
  unsigned none = idle_board::no_worker;
  m_board->watcher.compare_exchange_strong(none, m_index);
  m_sleep_state.store(asleep, std::memory_order_seq_cst);
  m_board->sleeping.fetch_add(1, std::memory_order_seq_cst);
  const bool fenced = process_barrier();
  // Pushes before the barrier are visible now; pushes after it see this worker on the board.
  if (looks_empty() && !m_owner->shared_work_in_sight() && !m_owner->notified() && !must_poll() &&
      !m_owner->stopping()) {
    m_owner->check_quiescence();
    bump(m_counters.slept);
    sleep_until_woken(fenced);
  }
  wake();  // unless another thread woke it
  // A waker may be between its claim and its last store: a few instructions, as with a lock.
  while (m_sleep_state.load(std::memory_order_seq_cst) != static_cast<int>(sleep_state::awake))
    std::this_thread::yield();
  runtime_registry::let_walk_end();
  keep_newest(false);  // until it is known how long the tasks are
  m_alarm.store(0, std::memory_order_seq_cst);
  return end_watch();
}

/// Wakes another worker to search in place of this worker, which was woken and found work of its
/// own: for shared work, a notification, a deadline without an alarm, or the role of watcher.
void worker::hand_over(bool watched) noexcept {
  if (watched || m_owner->shared_work_in_sight() || m_owner->notified() || !m_owner->alarm_is_set())
    m_owner->wake_searcher();
}

/// Sleeps until it is woken, a timer is due, or a busy worker needs help. One sleeper, the watcher,
/// checks the latter while other workers are awake: it stays on the board and checks less and less
/// often.
void worker::sleep_until_woken(bool fenced) noexcept {
  const int asleep = static_cast<int>(sleep_state::asleep);
  const std::uint64_t deadline = wake_up_time(fenced);
  m_alarm.store(deadline, std::memory_order_seq_cst);
  const bool watches = fenced && m_board->watcher.load(std::memory_order_relaxed) == m_index;
  std::uint64_t look = first_look_ns;
  while (m_sleep_state.load(std::memory_order_seq_cst) == asleep) {
    const std::uint64_t next = tracer::now() + look;
    const bool all_asleep = m_board->sleeping.load() == int(m_owner->worker_count());
    if (!watches || all_asleep) static_cast<void>(end_watch());
    if (!watches || all_asleep || (deadline != 0 && deadline <= next))
      return futex_wait(m_sleep_state, asleep, deadline);
    futex_wait(m_sleep_state, asleep, next);
    if (any_needs_help()) return;
    look = std::min(2 * look, last_look_ns);
  }
}

/// Ends this worker's role as the watcher of busy workers. Returns whether it was the watcher.
bool worker::end_watch() noexcept {
  if (m_board->watcher.load(std::memory_order_relaxed) != m_index) return false;
  m_board->watcher.store(idle_board::no_worker, std::memory_order_seq_cst);
  return true;
}

bool worker::any_needs_help() noexcept {
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

}  // namespace starling::detail
