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

namespace {
constexpr int room_for_failures = 32;  // records of a stream, allocated in advance
}  // namespace

/// Completed waiters, which are notified after the stream's lock is released.
class stream_state::handover {
 public:
  void add(completion_node& node) noexcept {
    node.result = completion_node::wait_status::passed;
    node.next = nullptr;
    *m_tail = &node;
    m_tail = &node.next;
  }
  /// Notifies the waiters. Coroutines are pushed to `ready`, or scheduled here if it is null. A
  /// node may be destroyed as soon as its waiter is notified.
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

stream_state::stream_state(const stream_context& context, stream_id id, starling::priority priority,
                           completion_word& word, const backend_partition* partition)
    : m_context(&context), m_id(id), m_priority(priority), m_partition(partition), m_word(&word) {}

stream_state::~stream_state() {
  if (!m_queue) return;
  synchronize();
  if (m_fatal && !m_context->loss_told.exchange(true)) report_unhandled(*m_context->home, m_fatal);
}

void stream_state::open(std::unique_ptr<backend_stream> queue, bool adopted) {
  m_queue = std::move(queue);
  m_adopted = m_foreign = adopted;
  m_failures.reserve(room_for_failures);
  m_context->poller->enroll(*this);
}

void stream_state::give_back() noexcept {
  // Release/acquire between handles: the last release sees the submissions through all handles.
  const bool last = m_borrowers.fetch_sub(1, std::memory_order_acq_rel) == 1;
  end_loan();
  if (last) m_context->owner->internals().recycle(*this);
}

/// Ends the stretch with a mark: its errors cannot reach the next user, and its completion is
/// known.
void stream_state::end_loan() noexcept {
  bool lost = false;
  {
    std::lock_guard lock(m_wait_lock);
    lost = m_fatal != nullptr;
  }
  try {
    const submission turn(*this);
    if (turn.captured()) return;
    if ((m_dirty || m_foreign) && !m_adopted && !lost) static_cast<void>(request_mark());
    // Under the submit lock: a later borrower submits to a later batch. One handle may remain, that
    // of the pool, which never waits.
    if (borrowers() > 1) return;
    m_foreign = m_adopted;
    std::lock_guard lock(m_wait_lock);
    m_released = m_marks.load(std::memory_order_relaxed);
  } catch (...) {
    report_unhandled(*m_context->home, std::current_exception());
  }
  report_stale_failures();
}

std::uint64_t stream_state::request_mark(bool behind_copies) {
  const std::uint64_t last = m_marks.load(std::memory_order_relaxed);
  if (!m_dirty && !m_foreign) return last;
  completion_mark request{kind_of_mark(behind_copies), last + 1, m_word, nullptr, this, m_foreign};
  // Foreign marks may store their word by another path (SYCL: a host task). Until they are passed,
  // later marks use that path too; otherwise an earlier number could overwrite a later one. Events
  // are queried in order anyway.
  if (request.how == completion_kind::word && passed() < m_last_foreign) request.foreign = true;
  if (request.foreign) m_last_foreign = last + 1;
  if (request.how == completion_kind::event) {
    request.point = m_context->owner->internals().backend->make_event();
    std::list<pending_event> fresh;  // allocated first: a queued mark must get into m_events
    fresh.push_back({last + 1, request.point});
    m_queue->mark(request);
    m_last_event.store(last + 1, std::memory_order_relaxed);
    std::lock_guard lock(m_wait_lock);
    m_events.splice(m_events.end(), fresh);
  } else {
    m_queue->mark(request);
  }
  m_marks.store(last + 1, std::memory_order_relaxed);
  m_dirty = false;
  m_is_delayed.store(false, std::memory_order_relaxed);
  return last + 1;
}

/// Chooses the kind of the next mark. Between two copies a word costs the device as much as a small
/// copy, an event nothing. While event marks are pending, later marks are events too: the host
/// stores the word for an event and must not overwrite a later number stored by the device.
completion_kind stream_state::kind_of_mark(bool behind_copies) const noexcept {
  if (m_context->completion == completion_kind::block) return completion_kind::word;
  return behind_copies || has_events() ? completion_kind::event : m_context->completion;
}

bool stream_state::is_polled() const noexcept {
  // Backends that do not notify are always polled, because polls also find device errors.
  return m_context->completion == completion_kind::event || !m_context->traits.notifies;
}

bool stream_state::subscribe(completion_node& node, bool lazy) {
  std::uint64_t sequence = 0;
  {
    const submission turn(*this, "completion");
    if (lazy && may_delay()) {
      m_is_delayed.store(true, std::memory_order_relaxed);
      sequence = m_marks.load(std::memory_order_relaxed) + 1;
    } else {
      sequence = request_mark();
    }
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
      m_seen = now_passed;  // not a newer value: the poller must see progress since this read
      m_progress_ns = tracer::now();
    }
  }
  // The node may be destroyed by now; the stream is still valid.
  if (watch) m_context->poller->watch(*this);
  return true;
}

/// Fills in the node. Returns true when its work is over already or the device is lost.
bool stream_state::settle(completion_node& node, std::uint64_t sequence, std::uint64_t now_passed) {
  node.sequence = sequence;
  node.after = m_released;
  if (now_passed < sequence && !m_fatal) return false;
  node.error = error_for(node);
  node.result = completion_node::wait_status::passed;
  return true;
}

void stream_state::link(completion_node& node) noexcept {
  completion_node** at = &m_head;
  if (m_tail != nullptr && m_tail->sequence <= node.sequence) {
    at = &m_tail->next;
  } else {  // a waiter of a later mark was linked first
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
    lower_waiters(1);
    return true;
  }
  return false;
}

/// Moves completed waiters to `done`. Returns their number, by which the caller lowers the count.
std::size_t stream_state::collect(std::uint64_t through, handover& done) noexcept {
  std::size_t taken = 0;
  while (m_head != nullptr && (m_head->sequence <= through || m_fatal)) {
    completion_node& node = *std::exchange(m_head, m_head->next);
    node.error = error_for(node);
    done.add(node);
    ++taken;
  }
  if (m_head == nullptr) m_tail = nullptr;
  return taken;
}

void stream_state::reached(std::uint64_t sequence) noexcept {
  handover done;
  std::size_t taken = 0;
  bool has_failures = false;
  {
    std::lock_guard lock(m_wait_lock);
    m_word->store(sequence, std::memory_order_release);
    taken = collect(sequence, done);
    has_failures = !m_failures.empty();
  }
  done.deliver(nullptr);
  if (has_failures) report_stale_failures();
  if (taken == 0) return;
  // Lowered after the delivery; otherwise the run could be diagnosed as hung in between.
  {
    std::lock_guard lock(m_wait_lock);
    lower_waiters(taken);
  }
  // The last worker may have fallen asleep in between because work was in flight. It must check
  // again, or the end of the run would stay undetected. A calling worker checks by itself.
  runtime& run = m_context->owner->owner();
  if (runtime::current() != &run) run.notify_pollers();
}

void stream_state::reached_next() noexcept { reached(passed() + 1); }

/// Queries the oldest events. Driver calls are made without the lock, on which other threads spin.
void stream_state::advance_events() noexcept {
  for (;;) {
    pending_event oldest{};
    {
      std::lock_guard lock(m_wait_lock);
      if (m_events.empty()) return;
      oldest = m_events.front();
    }
    try {
      if (!oldest.point->is_complete()) return;
    } catch (...) {
      std::lock_guard lock(m_wait_lock);
      m_fatal = std::current_exception();
      return;
    }
    std::lock_guard lock(m_wait_lock);
    if (m_events.empty() || m_events.front().sequence != oldest.sequence) continue;
    m_word->store(oldest.sequence, std::memory_order_release);
    m_events.pop_front();
  }
}

bool stream_state::is_idle() {
  bool idle = false;
  {
    const submission turn(*this, "is_idle");
    // A mark does not cover work that foreign code submits after it, so the queue is queried.
    idle = m_foreign ? m_queue->is_idle() : has_passed(request_mark());
  }
  if (idle) return true;
  throw_if_lost();
  return false;
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
  if (!has_events()) return false;
  advance_events();
  return passed() >= mark;
}

void stream_state::synchronize() noexcept {
  try {
    m_queue->synchronize();
  } catch (const device_error&) {
    std::lock_guard lock(m_wait_lock);
    m_fatal = std::current_exception();
  } catch (...) {  // no memory for the wait: the device is not lost
    report_unhandled(*m_context->home, std::current_exception());
  }
}

void stream_state::finish() {
  {
    const submission turn(*this, "wait for the end");
    static_cast<void>(request_mark());
  }
  synchronize();
}

bool stream_state::check(std::uint64_t now_ns, ready_list& ready,
                         std::uint64_t& stall_queries) noexcept {
  const bool by_event = has_events();
  if (by_event) advance_events();
  // Work that completed between polls is progress, not a stall.
  const bool has_progress = passed() != m_seen;
  const bool stalled = !has_progress && now_ns > m_progress_ns + completion_poller::stall_ns;
  const bool is_well = !m_is_delayed.load(std::memory_order_relaxed) || put_delayed_mark();
  // The common case: no progress, and no other thread has taken the waiters.
  if (!by_event && !stalled && is_well && !has_progress && waiters() != 0) return true;
  std::exception_ptr error;
  if (stalled) {
    error = m_queue->query_error();
    m_progress_ns = now_ns;
    ++stall_queries;
  }
  handover done;
  bool still_waited_for = false;
  bool has_failures = false;
  {
    std::lock_guard lock(m_wait_lock);
    if (error) m_fatal = error;
    const std::uint64_t now_passed = passed();
    if (std::exchange(m_seen, now_passed) != now_passed) m_progress_ns = now_ns;
    lower_waiters(collect(now_passed, done));
    has_failures = !m_failures.empty();
    still_waited_for = m_watched = m_head != nullptr;
  }
  done.deliver(&ready);
  if (has_failures) report_stale_failures();
  return still_waited_for;
}

}  // namespace starling::detail
