// SPDX-License-Identifier: Apache-2.0
#include "stream_state.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <starling/core/error.hpp>

#include "completion_poller.hpp"
#include "device_impl.hpp"
#include "submission.hpp"

namespace starling::detail {

/// Waiters taken off a stream under its lock, told after the lock is free.
class stream_state::handover {
 public:
  void add(completion_node& node) noexcept {
    node.result = completion_node::outcome::passed;
    node.next = nullptr;
    *m_tail = &node;
    m_tail = &node.next;
  }
  /// Coroutines go to `ready`, or are scheduled here without one. A node is gone once told.
  void deliver(ready_list* ready) noexcept {
    for (completion_node* node = m_head; node != nullptr;) {
      completion_node& told = *std::exchange(node, node->next);
      if (told.waiting == nullptr)
        told.notify(told);
      else if (ready != nullptr)
        ready->push(*told.waiting);
      else
        schedule(*told.waiting);
    }
  }

 private:
  completion_node* m_head = nullptr;
  completion_node** m_tail = &m_head;
};

void completion_listener::on_host_function(void* listener) noexcept {
  static_cast<completion_listener*>(listener)->reached_next();
}

bool subscribe(stream_state& s, completion_node& node) { return s.subscribe(node); }
bool withdraw(stream_state& s, completion_node& node) noexcept { return s.withdraw(node); }

stream_state::stream_state(const stream_context& context, stream_id id, priority urgency,
                           completion_word& word)
    : m_context(&context), m_id(id), m_urgency(urgency), m_word(&word) {}

stream_state::~stream_state() {
  if (m_queue) synchronize();
}

void stream_state::open(std::unique_ptr<backend_stream> queue, bool foreign) {
  m_queue = std::move(queue);
  m_foreign = foreign;
  m_context->poller->enroll(*this);
}

void stream_state::give_back() noexcept {
  // Release/acquire among handles: the last one sees what the others submitted.
  if (m_borrowers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::uint64_t last = 0;
  bool lost = false;
  {
    std::lock_guard lock(m_wait_lock);
    lost = m_fatal != nullptr;
  }
  try {
    const submission turn(*this);
    // Ends the batch, so that its errors cannot reach the next user, and to know when it is over.
    if (m_dirty && !lost) static_cast<void>(request_mark());
    last = m_marks.load(std::memory_order_relaxed);
  } catch (...) {
    report_unhandled(*m_context->home, std::current_exception());
  }
  {
    std::lock_guard lock(m_wait_lock);
    m_released = last;
    drop_stale_failures();
  }
  m_context->owner->parts().recycle(*this);
}

std::uint64_t stream_state::request_mark() {
  const std::uint64_t last = m_marks.load(std::memory_order_relaxed);
  if (!m_dirty && !m_foreign) return last;
  completion_mark request{m_context->completion, last + 1, m_word, nullptr, this};
  if (request.how == completion_kind::block) request.how = completion_kind::word;
  if (request.how == completion_kind::event) {
    request.point = m_context->owner->parts().backend->make_event();
    m_queue->mark(request);
    std::lock_guard lock(m_wait_lock);
    m_events.push_back({last + 1, std::move(request.point)});
  } else {
    m_queue->mark(request);
  }
  m_marks.store(last + 1, std::memory_order_relaxed);
  m_dirty = false;
  return last + 1;
}

bool stream_state::is_polled() const noexcept {
  // Backends that cannot recover are watched in any case: for errors.
  return m_context->completion == completion_kind::event || !m_context->traits.notifies;
}

bool stream_state::subscribe(completion_node& node) {
  std::uint64_t sequence = 0;
  {
    const submission turn(*this, "completion");
    sequence = request_mark();
  }
  if (m_context->completion == completion_kind::block) synchronize();
  bool watch = false;
  {
    std::lock_guard lock(m_wait_lock);
    const std::uint64_t now_passed = passed();
    if (settle(node, sequence, now_passed)) return false;
    link(node);
    if (is_polled() && !m_watched) {
      m_watched = watch = true;
      m_seen = now_passed;  // not a later look: what came since would never be news to the poller
      m_progress_ns = tracer::now();
    }
  }
  // The node may be gone by now; the stream is not.
  if (watch) m_context->poller->watch(*this);
  return true;
}

/// Whether there is nothing to wait for; if so, fills in the node.
bool stream_state::settle(completion_node& node, std::uint64_t sequence, std::uint64_t now_passed) {
  node.sequence = sequence;
  if (now_passed < sequence && !m_fatal) return false;
  node.error = error_for(sequence);
  node.result = completion_node::outcome::passed;
  return true;
}

void stream_state::link(completion_node& node) noexcept {
  completion_node** at = &m_head;
  if (m_tail != nullptr && m_tail->sequence <= node.sequence) {
    at = &m_tail->next;
  } else {  // a later mark was faster here
    while (*at != nullptr && (*at)->sequence <= node.sequence) at = &(*at)->next;
  }
  node.next = *at;
  *at = &node;
  if (node.next == nullptr) m_tail = &node;
  m_waiters.store(m_waiters.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool stream_state::withdraw(completion_node& node) noexcept {
  std::lock_guard lock(m_wait_lock);
  completion_node* before = nullptr;
  for (completion_node** at = &m_head; *at != nullptr; before = *at, at = &(*at)->next) {
    if (*at != &node) continue;
    *at = node.next;
    if (m_tail == &node) m_tail = before;
    m_waiters.store(m_waiters.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void stream_state::collect(std::uint64_t through, handover& done) noexcept {
  std::size_t taken = 0;
  while (m_head != nullptr && (m_head->sequence <= through || m_fatal)) {
    completion_node& node = *std::exchange(m_head, m_head->next);
    node.error = error_for(node.sequence);
    done.add(node);
    ++taken;
  }
  if (m_head == nullptr) m_tail = nullptr;
  m_waiters.store(m_waiters.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
  if (!m_failures.empty()) drop_stale_failures();
}

std::exception_ptr stream_state::error_for(std::uint64_t sequence) noexcept {
  for (failure& f : m_failures) {
    if (f.sequence != sequence && (f.sequence > sequence || f.observed)) continue;
    f.observed = true;
    return f.error;
  }
  return m_fatal;
}

/// Reports what nobody saw and nobody can ask for any more, and forgets it.
void stream_state::drop_stale_failures() noexcept {
  const std::uint64_t last_waited_for = m_tail == nullptr ? 0 : m_tail->sequence;
  std::erase_if(m_failures, [&](const failure& f) {
    if (f.sequence > m_released || f.sequence <= last_waited_for) return false;
    if (!f.observed) report_unhandled(*m_context->home, f.error);
    return true;
  });
}

void stream_state::reached(std::uint64_t sequence) noexcept {
  handover done;
  {
    std::lock_guard lock(m_wait_lock);
    m_word->store(sequence, std::memory_order_release);
    collect(sequence, done);
  }
  done.deliver(nullptr);
}

void stream_state::reached_next() noexcept { reached(passed() + 1); }

void stream_state::failed(std::uint64_t sequence, std::exception_ptr error) noexcept {
  std::lock_guard lock(m_wait_lock);
  std::erase_if(m_failures,
                [this](const failure& f) { return f.observed && f.sequence < passed(); });
  m_failures.push_back({sequence, std::move(error), false});
  drop_stale_failures();
}

void stream_state::advance_events() noexcept {
  try {
    while (!m_events.empty() && m_events.front().point->is_complete()) {
      m_word->store(m_events.front().sequence, std::memory_order_release);
      m_events.pop_front();
    }
  } catch (...) {
    m_fatal = std::current_exception();
  }
}

bool stream_state::is_idle() {
  std::uint64_t sequence = 0;
  {
    const submission turn(*this, "is_idle");
    sequence = request_mark();
  }
  return has_passed(sequence);
}

std::uint64_t stream_state::position() noexcept {
  std::uint64_t last = 0;
  bool dirty = false;
  {
    const submission turn(*this);
    last = m_marks.load(std::memory_order_relaxed);
    dirty = m_dirty || m_foreign;
  }
  if (dirty) return last + 1;
  return has_passed(last) ? 0 : last;
}

bool stream_state::has_passed(std::uint64_t mark) noexcept {
  if (passed() >= mark) return true;
  if (m_context->completion != completion_kind::event) return false;
  std::lock_guard lock(m_wait_lock);
  advance_events();
  return passed() >= mark;
}

void stream_state::synchronize() noexcept {
  try {
    m_queue->synchronize();
  } catch (...) {
    std::lock_guard lock(m_wait_lock);
    m_fatal = std::current_exception();
  }
}

bool stream_state::check(std::uint64_t now_ns, ready_list& ready,
                         std::uint64_t& stall_queries) noexcept {
  const bool by_event = m_context->completion == completion_kind::event;
  const bool stalled = now_ns > m_progress_ns + completion_poller::stall_ns;
  // Nothing new, and waiters() stays above 0 unless somebody else took them: the usual case.
  if (!by_event && !stalled && passed() == m_seen && waiters() != 0) return true;
  std::exception_ptr error;
  if (stalled) {
    error = m_queue->query_error();
    m_progress_ns = now_ns;
    ++stall_queries;
  }
  handover done;
  bool still_waited_for = false;
  {
    std::lock_guard lock(m_wait_lock);
    if (by_event) advance_events();
    if (error) m_fatal = error;
    const std::uint64_t now_passed = passed();
    if (std::exchange(m_seen, now_passed) != now_passed) m_progress_ns = now_ns;
    collect(now_passed, done);
    still_waited_for = m_watched = m_head != nullptr;
  }
  done.deliver(&ready);
  return still_waited_for;
}

}  // namespace starling::detail
