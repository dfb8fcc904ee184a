// SPDX-License-Identifier: Apache-2.0
#include "stream_waiters.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "completion_poller.hpp"

namespace starling::detail {
namespace {

constexpr int remembered_failures = 16;  // records kept after delivery to a waiter

/// Returns whether `f` belongs to the node's stretch, or to an earlier stretch of the same users
/// and is not delivered yet.
bool concerns(const stream_failures::record& f, const completion_node& node) noexcept {
  if (f.sequence <= node.after || f.first > node.sequence) return false;
  return f.sequence >= node.sequence || !f.observed;
}

}  // namespace

void stream_failures::add(std::uint64_t sequence, std::exception_ptr error) noexcept {
  // Some delivered errors are kept, because another waiter of the same stretch may have requested
  // its mark and not be linked yet.
  if (std::ranges::count(m_records, true, &record::observed) >= remembered_failures)
    m_records.erase(std::ranges::find(m_records, true, &record::observed));
  try {
    m_records.push_back({sequence, sequence, std::move(error), false});
  } catch (const std::bad_alloc&) {  // the last record also covers this stretch
    m_records.back().sequence = sequence;
    m_records.back().observed = false;
  }
}

std::exception_ptr stream_failures::deliver(const completion_node& node) noexcept {
  for (record& f : m_records) {
    if (!concerns(f, node)) continue;
    f.observed = true;
    return f.error;
  }
  return nullptr;
}

bool stream_failures::take_stale(const completion_node* waiters, std::uint64_t released,
                                 record& found) noexcept {
  const auto stale = std::ranges::find_if(m_records, [=](const record& f) {
    if (f.sequence > released) return false;
    for (const completion_node* n = waiters; n != nullptr; n = n->next)
      if (concerns(f, *n)) return false;
    return true;
  });
  if (stale == m_records.end()) return false;
  found = std::move(*stale);
  m_records.erase(stale);
  return true;
}

struct stream_waiters::completed {
  completion_node* head = nullptr;
  completion_node** tail = &head;
  std::size_t count = 0;
  bool leave_failures = false;
};

auto stream_waiters::add(completion_node& node, std::uint64_t mark,
                         const stream_marks& marks) noexcept -> entry {
  const std::lock_guard lock(m_wait_lock);
  node.sequence = mark;
  node.after = m_released;
  if (marks.passed() >= mark || m_loss) {  // read under the lock: no completion is missed
    node.error = error_for(node);
    node.result = device_waiter::wait_status::over;
    return entry::over;
  }
  link(node);
  // Backends that do not notify are always polled, because polls also find device errors.
  const bool is_polled =
      m_context->completion == completion_kind::event || !m_context->traits.notifies;
  return is_polled && !std::exchange(m_watched, true) ? entry::to_watch : entry::linked;
}

void stream_waiters::link(completion_node& node) noexcept {
  completion_node** at = &m_head;
  if (m_tail != nullptr && m_tail->sequence <= node.sequence) {
    at = &m_tail->next;
  } else {  // a waiter of a later mark was linked first
    while (*at != nullptr && (*at)->sequence <= node.sequence) at = &(*at)->next;
  }
  node.next = *at;
  *at = &node;
  if (node.next == nullptr) m_tail = &node;
  set_count(count() + 1);
}

bool stream_waiters::withdraw(completion_node& node) noexcept {
  const std::lock_guard lock(m_wait_lock);
  completion_node* before = nullptr;
  for (completion_node** at = &m_head; *at != nullptr; before = *at, at = &(*at)->next) {
    if (*at != &node) continue;
    *at = node.next;
    if (m_tail == &node) m_tail = before;
    set_count(count() - 1);
    return true;
  }
  return false;
}

std::exception_ptr stream_waiters::error_for(const completion_node& node) noexcept {
  if (std::exception_ptr error = m_failures.deliver(node)) return error;
  if (m_loss) m_context->loss_told.store(true, std::memory_order_relaxed);
  return m_loss;
}

void stream_waiters::take(std::uint64_t mark, completed& done) noexcept {
  while (m_head != nullptr && (m_head->sequence <= mark || m_loss)) {
    completion_node& node = *std::exchange(m_head, m_head->next);
    node.error = error_for(node);
    node.next = nullptr;
    *std::exchange(done.tail, &node.next) = &node;
    ++done.count;
  }
  if (m_head == nullptr) m_tail = nullptr;
  done.leave_failures = !m_failures.empty();
}

/// Notifies the waiters. Coroutines are pushed to `ready`, or scheduled here if it is null.
void stream_waiters::deliver(const completed& done, ready_list* ready) noexcept {
  for (completion_node* node = done.head; node != nullptr;) {
    completion_node& told = *std::exchange(node, node->next);
    told.end_wait(device_waiter::wait_status::over, ready);
  }
  if (done.leave_failures) report_stale();
}

bool stream_waiters::complete(std::uint64_t mark) noexcept {
  completed done;
  {
    const std::lock_guard lock(m_wait_lock);
    take(mark, done);
  }
  deliver(done, nullptr);
  if (done.count == 0) return false;
  // After the delivery; otherwise the run could be diagnosed as hung in between.
  const std::lock_guard lock(m_wait_lock);
  set_count(count() - done.count);
  return true;
}

bool stream_waiters::collect(std::uint64_t mark, ready_list& ready) noexcept {
  completed done;
  bool still_watched = false;
  {
    const std::lock_guard lock(m_wait_lock);
    take(mark, done);
    set_count(count() - done.count);
    still_watched = m_watched = m_head != nullptr;
  }
  deliver(done, &ready);
  return still_watched;
}

void stream_waiters::fail(std::uint64_t mark, std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(m_wait_lock);
    m_failures.add(mark, std::move(error));
  }
  report_stale();
}

void stream_waiters::release(std::uint64_t mark) noexcept {
  const std::lock_guard lock(m_wait_lock);
  m_released = mark;
}

void stream_waiters::report_stale() noexcept {
  for (;;) {  // one at a time, because a list of them would need memory
    stream_failures::record found{};
    {
      const std::lock_guard lock(m_wait_lock);
      if (!m_failures.take_stale(m_head, m_released, found)) return;
    }
    if (!found.observed) report_unhandled(*m_context->home, std::move(found.error));
  }
}

void stream_waiters::lose(std::exception_ptr error) noexcept {
  if (!error) return;
  const std::lock_guard lock(m_wait_lock);
  m_loss = std::move(error);
}

std::exception_ptr stream_waiters::loss() noexcept {
  const std::lock_guard lock(m_wait_lock);
  return m_loss;
}

bool stream_waiters::is_query_due(std::uint64_t now_ns) noexcept {
  const std::lock_guard lock(m_wait_lock);
  if (m_loss || now_ns <= m_asked_ns + completion_poller::stall_ns) return false;
  m_asked_ns = now_ns;
  return true;
}

}  // namespace starling::detail
