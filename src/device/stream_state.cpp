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
constexpr int remembered_failures = 16;  // of those that somebody has seen, per stream
}

/// What is to be told after a stream's lock is free: to waiters that they are done, and to the
/// runtime the errors that nobody waits for.
class stream_state::handover {
 public:
  explicit handover(const stream_context& context) noexcept : m_home(context.home) {}

  void add_unseen(std::exception_ptr error) { m_unseen.push_back(std::move(error)); }
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
    for (std::exception_ptr& error : m_unseen) report_unhandled(*m_home, std::move(error));
  }

 private:
  worker* m_home;
  std::vector<std::exception_ptr> m_unseen;
  completion_node* m_head = nullptr;
  completion_node** m_tail = &m_head;
};

void completion_listener::on_host_function(void* listener) noexcept {
  static_cast<completion_listener*>(listener)->reached_next();
}

bool subscribe(stream_state& s, completion_node& node) { return s.subscribe(node); }
bool withdraw(stream_state& s, completion_node& node) noexcept { return s.withdraw(node); }

stream_state::stream_state(const stream_context& context, stream_id id, priority urgency,
                           completion_word& word, const backend_part* part)
    : m_context(&context), m_id(id), m_urgency(urgency), m_part(part), m_word(&word) {}

stream_state::~stream_state() {
  if (!m_queue) return;
  synchronize();
  if (m_fatal && !m_context->loss_told.exchange(true)) report_unhandled(*m_context->home, m_fatal);
}

void stream_state::open(std::unique_ptr<backend_stream> queue, bool adopted) {
  m_queue = std::move(queue);
  m_adopted = m_foreign = adopted;
  m_context->poller->enroll(*this);
}

void stream_state::give_back() noexcept {
  // Release/acquire among handles: the last one sees what the others submitted.
  const bool last = m_borrowers.fetch_sub(1, std::memory_order_acq_rel) == 1;
  end_loan();
  if (last) m_context->owner->parts().recycle(*this);
}

/// Ends the batch, so that its errors cannot reach the next user, and to know when it is over.
void stream_state::end_loan() noexcept {
  handover done(*m_context);
  bool lost = false;
  {
    std::lock_guard lock(m_wait_lock);
    lost = m_fatal != nullptr;
  }
  try {
    const submission turn(*this);
    if (turn.captured()) return;
    if ((m_dirty || m_foreign) && !m_adopted && !lost) static_cast<void>(request_mark());
    // Under the lock: who borrows from now on submits to a later batch. One handle may be left,
    // that of the pool, which never asks.
    if (borrowers() > 1) return;
    m_foreign = m_adopted;
    std::lock_guard lock(m_wait_lock);
    m_released = m_marks.load(std::memory_order_relaxed);
    drop_stale_failures(done);
  } catch (...) {
    report_unhandled(*m_context->home, std::current_exception());
  }
  done.deliver(nullptr);
}

std::uint64_t stream_state::request_mark(bool behind_copies) {
  const std::uint64_t last = m_marks.load(std::memory_order_relaxed);
  if (!m_dirty && !m_foreign) return last;
  completion_mark request{kind_of_mark(behind_copies), last + 1, m_word, nullptr, this, m_foreign};
  // Words of foreign marks are stored by another way: until it is empty the next ones go by it too,
  // or a later word might be overtaken by an earlier one. Events are looked at in order anyhow.
  if (request.how == completion_kind::word && passed() < m_last_foreign) request.foreign = true;
  if (request.foreign) m_last_foreign = last + 1;
  if (request.how == completion_kind::event) {
    request.point = m_context->owner->parts().backend->make_event();
    m_queue->mark(request);
    m_last_event.store(last + 1, std::memory_order_relaxed);
    std::lock_guard lock(m_wait_lock);
    m_events.push_back({last + 1, std::move(request.point)});
  } else {
    m_queue->mark(request);
  }
  m_marks.store(last + 1, std::memory_order_relaxed);
  m_dirty = false;
  m_is_delayed.store(false, std::memory_order_relaxed);
  return last + 1;
}

/// A word between two copies costs a device as much as a small copy, an event nothing. The host
/// stores the word for an event, and is not to overwrite one that the device stored later.
completion_kind stream_state::kind_of_mark(bool behind_copies) const noexcept {
  if (m_context->completion == completion_kind::block) return completion_kind::word;
  return behind_copies || has_events() ? completion_kind::event : m_context->completion;
}

bool stream_state::is_polled() const noexcept {
  // Backends that cannot recover are watched in any case: for errors.
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
      m_seen = now_passed;  // not a later look: what came since would never be news to the poller
      m_progress_ns = tracer::now();
    }
  }
  // The node may be gone by now; the stream is not.
  if (watch) m_context->poller->watch(*this);
  return true;
}

/// Whether there is nothing to wait for. Fills in the node.
bool stream_state::settle(completion_node& node, std::uint64_t sequence, std::uint64_t now_passed) {
  node.sequence = sequence;
  node.after = m_released;
  if (now_passed < sequence && !m_fatal) return false;
  node.error = error_for(node);
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
    lower_waiters(1);
    return true;
  }
  return false;
}

/// How many it took; the caller lowers the count of waiters by that.
std::size_t stream_state::collect(std::uint64_t through, handover& done) noexcept {
  std::size_t taken = 0;
  while (m_head != nullptr && (m_head->sequence <= through || m_fatal)) {
    completion_node& node = *std::exchange(m_head, m_head->next);
    node.error = error_for(node);
    done.add(node);
    ++taken;
  }
  if (m_head == nullptr) m_tail = nullptr;
  if (!m_failures.empty()) drop_stale_failures(done);
  return taken;
}

/// Whether `f` is of the node's own batch, or of an earlier one of the same users and not seen yet.
bool stream_state::concerns(const failure& f, const completion_node& node) noexcept {
  if (f.sequence <= node.after || f.sequence > node.sequence) return false;
  return f.sequence == node.sequence || !f.observed;
}

std::exception_ptr stream_state::error_for(const completion_node& node) noexcept {
  for (failure& f : m_failures) {
    if (!concerns(f, node)) continue;
    f.observed = true;
    return f.error;
  }
  if (m_fatal) m_context->loss_told.store(true, std::memory_order_relaxed);
  return m_fatal;
}

/// Forgets what nobody can ask for any more; what nobody saw is to be reported.
void stream_state::drop_stale_failures(handover& done) noexcept {
  const auto is_awaited = [this](const failure& f) {
    for (const completion_node* n = m_head; n != nullptr; n = n->next)
      if (concerns(f, *n)) return true;
    return false;
  };
  std::erase_if(m_failures, [&](const failure& f) {
    if (f.sequence > m_released || is_awaited(f)) return false;
    if (!f.observed) done.add_unseen(f.error);
    return true;
  });
}

void stream_state::reached(std::uint64_t sequence) noexcept {
  handover done(*m_context);
  std::size_t taken = 0;
  {
    std::lock_guard lock(m_wait_lock);
    m_word->store(sequence, std::memory_order_release);
    taken = collect(sequence, done);
  }
  done.deliver(nullptr);
  if (taken == 0) return;
  // Only now, or the run would look hung while this thread is between the two.
  {
    std::lock_guard lock(m_wait_lock);
    lower_waiters(taken);
  }
  // The last worker may have gone to sleep in between, seeing work in flight: it must look again,
  // or nobody would notice the end of the run. A worker that calls this looks itself.
  runtime& run = m_context->owner->owner();
  if (runtime::current() != &run) run.notify_pollers();
}

void stream_state::reached_next() noexcept { reached(passed() + 1); }

void stream_state::failed(std::uint64_t sequence, std::exception_ptr error) noexcept {
  handover done(*m_context);
  {
    std::lock_guard lock(m_wait_lock);
    // Errors that somebody has seen are kept for a while: another waiter of the same batch may
    // have its mark, but not be in the list yet.
    if (std::ranges::count(m_failures, true, &failure::observed) >= remembered_failures)
      m_failures.erase(std::ranges::find(m_failures, true, &failure::observed));
    m_failures.push_back({sequence, std::move(error), false});
    drop_stale_failures(done);
  }
  done.deliver(nullptr);
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
  bool idle = false;
  {
    const submission turn(*this, "is_idle");
    // A mark would tell nothing of what others submit behind it: the queue itself knows.
    idle = m_foreign ? m_queue->is_idle() : has_passed(request_mark());
  }
  if (idle) return true;
  throw_if_lost();
  return false;
}

/// Who only ever calls is_idle() has no poller that looks for errors.
void stream_state::throw_if_lost() {
  if (m_context->traits.recovers) return;
  const std::uint64_t now = tracer::now();
  std::unique_lock lock(m_wait_lock);
  if (!m_fatal && now > m_asked_ns + completion_poller::stall_ns) {
    m_asked_ns = now;
    lock.unlock();
    const std::exception_ptr error = m_queue->query_error();
    lock.lock();
    if (error) m_fatal = error;
  }
  if (!m_fatal) return;
  m_context->loss_told.store(true, std::memory_order_relaxed);
  std::rethrow_exception(m_fatal);
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
  std::lock_guard lock(m_wait_lock);
  advance_events();
  return passed() >= mark;
}

void stream_state::synchronize() noexcept {
  try {
    m_queue->synchronize();
  } catch (const device_error&) {
    std::lock_guard lock(m_wait_lock);
    m_fatal = std::current_exception();
  } catch (...) {  // no memory for the wait: that is not the device's end
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
  const bool stalled = now_ns > m_progress_ns + completion_poller::stall_ns;
  const bool is_well = !m_is_delayed.load(std::memory_order_relaxed) || put_delayed_mark();
  // Nothing new, and waiters() stays above 0 unless somebody else took them: the usual case.
  if (!by_event && !stalled && is_well && passed() == m_seen && waiters() != 0) return true;
  std::exception_ptr error;
  if (stalled) {
    error = m_queue->query_error();
    m_progress_ns = now_ns;
    ++stall_queries;
  }
  handover done(*m_context);
  bool still_waited_for = false;
  {
    std::lock_guard lock(m_wait_lock);
    if (by_event) advance_events();
    if (error) m_fatal = error;
    const std::uint64_t now_passed = passed();
    if (std::exchange(m_seen, now_passed) != now_passed) m_progress_ns = now_ns;
    lower_waiters(collect(now_passed, done));
    still_waited_for = m_watched = m_head != nullptr;
  }
  done.deliver(&ready);
  return still_waited_for;
}

}  // namespace starling::detail
