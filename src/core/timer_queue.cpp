// SPDX-License-Identifier: Apache-2.0
#include "timer_queue.hpp"

#include <starling/core/future.hpp>

#include "scheduler_impl.hpp"

namespace starling::detail {

void timer_queue::publish() noexcept {
  m_size.store(m_timers.size(), std::memory_order_relaxed);
  m_first.store(m_timers.empty() ? 0 : m_timers.begin()->first, std::memory_order_relaxed);
}

timer_queue::added timer_queue::add(timer_awaiter& a, promise_base& waiting) {
  std::lock_guard lock(m_lock);
  if (a.m_stopped) {
    a.m_ended_by = timer_awaiter::ended_by::stop;
    return added::cancelled;
  }
  a.m_waiting = &waiting;
  const auto place = m_timers.emplace(a.m_due, &a).first;
  a.m_is_waited_for = true;
  if (m_owner_ends) {
    promise_base& task = root_of(waiting);
    a.m_is_waited_for = !task.had_its_sleep;
    task.had_its_sleep = true;
  }
  m_waited_for += a.m_is_waited_for ? 1 : 0;
  publish();
  return place == m_timers.begin() ? added::earliest : added::later;
}

bool timer_queue::remove(timer_awaiter& a) noexcept {
  if (m_timers.erase({a.m_due, &a}) == 0) return false;
  m_waited_for -= a.m_is_waited_for ? 1 : 0;
  publish();
  return true;
}

void timer_queue::cancel(timer_awaiter& a) noexcept {
  promise_base* waiting = nullptr;
  {
    std::lock_guard lock(m_lock);
    a.m_stopped = true;
    if (!remove(a)) return;
    a.m_ended_by = timer_awaiter::ended_by::stop;
    waiting = a.m_waiting;
  }
  schedule(*waiting);
}

void timer_queue::poll(ready_list& ready) noexcept {
  const std::uint64_t first = m_first.load(std::memory_order_relaxed);
  if (first == 0 || tracer::now() < first) return;
  std::lock_guard lock(m_lock);
  const std::uint64_t now = tracer::now();
  while (!m_timers.empty() && m_timers.begin()->first <= now) {
    timer_awaiter& due = *m_timers.begin()->second;
    static_cast<void>(remove(due));
    ready.push(*due.m_waiting);
  }
}

bool timer_queue::withdraw(timer_awaiter& a) noexcept {
  std::lock_guard lock(m_lock);
  if (!remove(a)) return false;
  a.m_ended_by = timer_awaiter::ended_by::runtime;
  return true;
}

void timer_queue::begin_end() noexcept {
  std::lock_guard lock(m_lock);
  m_owner_ends = true;
  for (const auto& [due, sleeper] : m_timers) root_of(*sleeper->m_waiting).had_its_sleep = true;
}

std::size_t timer_queue::waited_for() const noexcept {
  std::lock_guard lock(m_lock);
  return m_waited_for;
}

void timer_queue::end_all(ready_list& ready) noexcept {
  std::lock_guard lock(m_lock);
  for (const auto& [due, sleeper] : m_timers) {
    sleeper->m_ended_by = timer_awaiter::ended_by::runtime;
    ready.push(*sleeper->m_waiting);
  }
  m_timers.clear();
  m_waited_for = 0;
  publish();
}

bool withdraw_sleeper(promise_base& sleeper) noexcept {
  auto& a = awaited_object<timer_awaiter>(sleeper);
  return a.m_queue->withdraw(a);
}

void timer_awaiter::cancel() noexcept { m_queue->cancel(*this); }

bool timer_awaiter::start(promise_base& waiting) {
  scheduler_impl& owner = t_worker->owner();
  if (m_queue == nullptr) m_queue = &owner.timers();  // otherwise `cancel` may be reading m_queue
  timer_queue::added place{};
  try {
    place = m_queue->add(*this, waiting);  // after it, `this` may be destroyed
  } catch (const std::bad_alloc&) {
    forget_wait(waiting);
    throw;
  }
  if (place != timer_queue::added::earliest) return place == timer_queue::added::later;
  // This worker may be busy when the timer is due: a sleeping worker must set its alarm for it.
  owner.notify_pollers();
  return true;
}

timer_queue& current_timers() {
  return require_worker("sleep_until with a stop token").owner().timers();
}

}  // namespace starling::detail
