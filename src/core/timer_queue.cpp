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
    a.m_cancelled = true;
    return added::cancelled;
  }
  a.m_waiting = &waiting;
  const auto place = m_timers.emplace(a.m_due, a.m_waiting).first;
  publish();
  return place == m_timers.begin() ? added::earliest : added::later;
}

void timer_queue::cancel(timer_awaiter& a) noexcept {
  promise_base* waiting = nullptr;
  {
    std::lock_guard lock(m_lock);
    a.m_stopped = true;
    if (m_timers.erase({a.m_due, a.m_waiting}) == 0) return;
    publish();
    a.m_cancelled = true;
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
    ready.push(*m_timers.begin()->second);
    m_timers.erase(m_timers.begin());
  }
  publish();
}

void timer_awaiter::cancel() noexcept { m_queue->cancel(*this); }

bool timer_awaiter::start(promise_base& waiting) {
  scheduler_impl& owner = t_worker->owner();
  if (m_queue == nullptr) m_queue = &owner.timers();  // else `cancel` may be reading it
  switch (m_queue->add(*this, waiting)) {             // when it returns, `this` may be gone
    case timer_queue::added::cancelled:
      return false;
    case timer_queue::added::later:
      return true;
    case timer_queue::added::earliest:
      break;
  }
  // This worker may be busy when the timer is due: a sleeping one must know of it.
  owner.notify_pollers();
  return true;
}

timer_queue& current_timers() {
  return require_worker("sleep_until with a stop token").owner().timers();
}

}  // namespace starling::detail
