// SPDX-License-Identifier: Apache-2.0
// The end of a run that cannot continue: detection, confirmation and consequences.
//
// Lock order: runtime_registry::m_mutex (held in a walk) → m_root_mutex → m_pollers_lock, timer
// queue, shared queue, frame pools → locks of awaited objects (`withdraw`). So `check_quiescence`
// releases m_root_mutex before it begins a walk.
#include <algorithm>
#include <cstdio>

#include "diagnosis.hpp"
#include "scheduler_impl.hpp"

namespace starling::detail {

constexpr int patience = 64;  // rounds of unwinding before tasks that wait again are abandoned

bool run_has_ended() noexcept { return worker::current()->owner().run_has_ended(); }

bool scheduler_impl::is_quiescent_but_for(const poller* except) const noexcept {
  // If no worker woke between the two readings of the board, the results of the checks in between
  // hold at one moment.
  const std::uint64_t before = wakes();
  if (!all_asleep() || !m_shared.empty()) return false;
  if (!std::ranges::all_of(m_workers, [](auto& w) { return w->looks_empty(); })) return false;
  if (in_flight(except) != 0 || m_external.load(std::memory_order_seq_cst) != 0) return false;
  // A worker that is being woken may still count as asleep: the first thread that wakes it changes
  // the count, and a second one does not wait for that change.
  return all_asleep() && std::ranges::all_of(m_workers, [](auto& w) { return w->is_asleep(); }) &&
         wakes() == before;
}

bool scheduler_impl::is_waited_for() const noexcept {
  // A root that was released may still be listed, because its thread has not run since.
  return std::ranges::any_of(m_roots, [](const sync_root* r) { return r->m_done.load() == 0; });
}

/// Returns whether a hang would be reported to a waiting thread. Requires m_root_mutex.
bool scheduler_impl::hang_counts() const noexcept {
  return m_options.hang_diagnosis && !m_is_connected && is_waited_for();
}

void scheduler_impl::check_quiescence() noexcept {
  if (!all_asleep()) return;
  bool may_be_hung = false;
  {
    std::lock_guard lock(m_root_mutex);
    if (release_quiescence_waiters()) return;
    may_be_hung = m_drains != 0 || hang_counts();
    if (!may_be_hung && m_idle_waits != 0 && is_quiescent_but_for_sleeps()) announce_quiescence();
  }
  if (may_be_hung) look_for_hang();
  runtime_registry::instance().became_quiescent(*this);
}

void scheduler_impl::resume_at_quiescence(promise_base& c, bool before_others) {
  std::lock_guard lock(m_root_mutex);
  // The worker of `c` is awake, and checks the list when it falls asleep.
  (before_others ? m_first_waiters : m_quiescence_waiters).push(c);
}

/// Resumes the coroutines that wait for quiescence, if the scheduler is quiescent. False: no
/// coroutine waits for it. Requires m_root_mutex.
bool scheduler_impl::release_quiescence_waiters() noexcept {
  if (m_first_waiters.empty() && m_quiescence_waiters.empty()) return false;
  if (!is_quiescent_but_for_sleeps()) return true;
  if (promise_base* first = m_first_waiters.pop()) {
    schedule_from_outside(*first);
    return true;
  }
  while (promise_base* c = m_quiescence_waiters.pop()) schedule_from_outside(*c);
  return true;
}

void scheduler_impl::announce_quiescence() noexcept {
  ++m_quiescences;
  m_root_changed.notify_all();
}

void scheduler_impl::look_for_hang() noexcept {
  runtime_registry::walk walk;  // from here on, workers that wake do not resume anything
  std::lock_guard lock(m_root_mutex);
  if (release_quiescence_waiters()) return;
  const bool waited_for = hang_counts();
  if (m_drains == 0 && m_idle_waits == 0 && !waited_for) return;
  if (!is_quiescent_but_for_sleeps() || !end_sleeps()) return;
  if ((m_drains == 0 && !waited_for) || end_hung_run(waited_for)) announce_quiescence();
}

bool scheduler_impl::is_quiescent_but_for_sleeps() const noexcept {
  const bool may_sleep = m_drains != 0 && (m_run_ended || m_timers.waited_for() == 0);
  return is_quiescent_but_for(may_sleep ? &m_timers : nullptr);
}

/// Ends the remaining sleeps of coroutines while the runtime ends: otherwise a coroutine that
/// sleeps and works in an endless loop would keep the runtime from ending. Called while the
/// scheduler is quiescent.
bool scheduler_impl::end_sleeps() noexcept {
  if (m_drains == 0 || m_timers.in_flight() == 0) return true;
  if (++m_ended_sleeps > patience) {  // the coroutines sleep again in spite of runtime_ends
    try {
      std::fprintf(stderr, "starling: runtime ends although these sleep again and again:\n%s",
                   describe_awaiters(true).c_str());
    } catch (const std::bad_alloc&) {
    }
    abandon_frames(*this);
    return true;
  }
  ready_list sleepers;
  m_timers.end_all(sleepers);
  while (promise_base* c = sleepers.pop()) schedule_from_outside(*c);
  return false;
}

/// Resumes with hang_error the coroutines whose waits only user code could end, so that tasks
/// unwind; tasks that cannot be unwound are left behind.
bool scheduler_impl::end_hung_run(bool waited_for) noexcept {
  try {
    const std::string list = describe_awaiters(true);
    if (list.empty() && !waited_for) return true;
    if (!runtime_registry::instance().all_quiescent()) {
      m_suspect = true;
      return false;
    }
    if (m_hangs == 0) {
      m_hang_report =
          "nothing is runnable and nothing is in flight, but these still wait (a thread outside "
          "the runtime that is to wake them must hold an external_work token):\n" +
          list;
      if (!waited_for && !m_run_ended)
        std::fprintf(stderr, "starling: runtime ends while %s", m_hang_report.c_str());
    }
    if (++m_hangs <= patience && interrupt_leaves()) return false;
    if (m_drains != 0) abandon_frames(*this);
    fail_roots(std::make_exception_ptr(hang_error(m_hang_report)));
  } catch (...) {
    fail_roots(std::current_exception());
  }
  return true;
}

void scheduler_impl::fail_roots(const std::exception_ptr& error) noexcept {
  for (sync_root* root : m_roots) {
    if (root->m_done.load() != 0) continue;
    root->failure = error;
    root->release();
  }
}

bool scheduler_impl::interrupt_leaves() {
  bool any = false;
  for (promise_base* c : hung_coroutines(*this)) {
    const withdraw_fn withdraw = c->withdraw.load(std::memory_order_relaxed);
    if (!withdraw(*c)) continue;
    c->kind.store(await_kind::ready, std::memory_order_relaxed);
    schedule_from_outside(*c);
    any = true;
  }
  return any;
}

}  // namespace starling::detail
