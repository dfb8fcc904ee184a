// SPDX-License-Identifier: Apache-2.0
#include "stream_marks.hpp"

#include <mutex>

#include "device_impl.hpp"

namespace starling::detail {

/// Returns whether a lazy mark may be delayed, because a word between two copies costs a device as
/// much as a small copy. The poller then requests an event, at the first poll after the previous
/// mark is passed. Only for polled backends.
bool stream_marks::may_delay() const noexcept {
  return m_dirty && !is_foreign() && !m_context->traits.notifies && !m_context->barriers &&
         m_context->completion == completion_kind::word;
}

/// Chooses the kind of the next mark. Between two copies the store of a word costs the device as
/// much as a small copy, while an event costs no device time. While event marks are pending, later
/// marks are events too: the host stores the word for an event and must not overwrite a later
/// number stored by the device.
completion_kind stream_marks::kind_of(urgency when) const noexcept {
  if (m_context->completion == completion_kind::block) return completion_kind::word;
  return when == urgency::overdue || has_events() ? completion_kind::event : m_context->completion;
}

std::uint64_t stream_marks::request(urgency when, backend_stream& queue) {
  if (!has_work()) return last();
  const std::uint64_t next = last() + 1;
  if (when == urgency::lazy && may_delay()) {
    m_is_delayed.store(true, std::memory_order_relaxed);
    return next;
  }
  completion_mark mark{kind_of(when), next, m_word, nullptr, m_listener, is_foreign()};
  // The words of foreign marks may be stored by other means (SYCL: a host task). Until these marks
  // are passed, later words are stored by the same means; otherwise an earlier number could
  // overwrite a later one. Events need no such rule, because they are queried in order.
  if (mark.how == completion_kind::word && passed() < m_last_foreign) mark.foreign = true;
  if (mark.foreign) m_last_foreign = next;
  // Allocated first: once the mark is queued, its insertion into m_events must not fail.
  std::list<pending_event> fresh;
  if (mark.how == completion_kind::event) {
    mark.point = m_context->owner->internals().backend->make_event();
    fresh.push_back({next, mark.point});
  }
  queue.mark(mark);
  if (!fresh.empty()) {
    m_last_event.store(next, std::memory_order_relaxed);
    const std::lock_guard lock(m_event_lock);
    m_events.splice(m_events.end(), fresh);
  }
  m_last.store(next, std::memory_order_relaxed);
  m_dirty = false;
  drop_delay();
  return next;
}

std::exception_ptr stream_marks::query_events() noexcept {
  for (;;) {
    pending_event oldest{};
    {
      const std::lock_guard lock(m_event_lock);
      if (m_events.empty()) return nullptr;
      oldest = m_events.front();
    }
    try {
      if (!oldest.point->is_complete()) return nullptr;
    } catch (...) {
      return std::current_exception();
    }
    const std::lock_guard lock(m_event_lock);
    if (m_events.empty() || m_events.front().mark != oldest.mark) continue;
    pass(oldest.mark);
    m_events.pop_front();
  }
}

}  // namespace starling::detail
