// SPDX-License-Identifier: Apache-2.0
#include "stream_state.hpp"

#include <mutex>
#include <utility>

#include <starling/core/error.hpp>

#include "completion_poller.hpp"
#include "device_impl.hpp"

namespace starling::detail {

void completion_listener::on_host_function(void* listener) noexcept {
  static_cast<completion_listener*>(listener)->reached_next();
}

bool subscribe(stream_state& s, completion_node& node) { return s.subscribe(node); }
bool withdraw(stream_state& s, completion_node& node) noexcept { return s.withdraw(node); }

stream_state::stream_state(const stream_context& context, stream_id id, starling::priority priority,
                           completion_word& word, const backend_partition* partition)
    : m_context(&context), m_id(id), m_priority(priority), m_partition(partition),
      m_marks(context, *this, word), m_times(context.times), m_waiters(context) {}

stream_state::~stream_state() {
  if (!m_queue) return;
  synchronize();
  const std::exception_ptr loss = m_waiters.loss();
  if (loss && !m_context->loss_told.exchange(true)) report_unhandled(*m_context->home, loss);
}

void stream_state::open(std::unique_ptr<backend_stream> queue, bool adopted) {
  m_queue = std::move(queue);
  if (adopted) m_marks.note_submitters(submitters::foreign);
  m_waiters.open();
  m_context->poller->enroll(*this);
}

void stream_state::give_back() noexcept {
  // Release/acquire between handles: the last release sees the submissions through all handles.
  const bool last = m_borrowers.fetch_sub(1, std::memory_order_acq_rel) == 1;
  end_loan();
  if (last) m_context->owner->internals().recycle(*this);
}

/// Called when the users release the stream. Ends the stretch with a mark, so that its errors do
/// not reach the next user and its completion is detected.
void stream_state::end_loan() noexcept {
  const bool is_lost = m_waiters.loss() != nullptr;
  try {
    const submission turn(m_submit_lock);
    if (turn.captured()) return;
    m_times.close();
    if (!m_marks.is_adopted() && !is_lost) mark(urgency::now);
    // Under the submit lock: a later borrower submits to a later batch. One handle may remain, that
    // of the pool, which never waits.
    if (borrowers() > 1) return;
    m_marks.end_loan();
    m_waiters.release(m_marks.last());
  } catch (...) {
    report_unhandled(*m_context->home, std::current_exception());
  }
  m_waiters.report_stale();
}

bool stream_state::subscribe(completion_node& node, urgency when) {
  std::uint64_t requested = 0;
  {
    const submission turn(m_submit_lock, "completion");
    requested = mark(when);
  }
  if (m_context->completion == completion_kind::block) synchronize();
  // Read before the node is linked: later passes then count as progress.
  const std::uint64_t seen = m_marks.passed();
  const auto entry = m_waiters.add(node, requested, m_marks);
  if (entry != stream_waiters::entry::to_watch) return entry == stream_waiters::entry::linked;
  m_seen = seen;
  m_progress_ns = tracer::now();
  m_context->poller->watch(*this);  // the node may be destroyed by now; the stream is still valid
  return true;
}

void stream_state::reached(std::uint64_t sequence) noexcept {
  m_marks.pass(sequence);
  if (!m_waiters.complete(sequence)) return;
  // The last worker may have fallen asleep before, because work was in flight. It must check again,
  // or the end of the run would stay undetected. If the calling thread is a worker, that worker
  // checks before it sleeps.
  runtime& run = m_context->owner->owner();
  if (runtime::current() != &run) run.notify_pollers();
}

void stream_state::reached_next() noexcept { reached(m_marks.passed() + 1); }

void stream_state::failed(std::uint64_t sequence, std::exception_ptr error) noexcept {
  m_waiters.fail(sequence, std::move(error));
}

/// Throws the error of a lost device. Queries the device, because the poller does so only for
/// streams with waiters, and is_idle() adds none.
void stream_state::throw_if_lost() {
  if (m_context->traits.recovers) return;
  if (m_waiters.is_query_due(tracer::now())) m_waiters.lose(m_queue->query_error());
  const std::exception_ptr loss = m_waiters.loss();
  if (!loss) return;
  m_context->loss_told.store(true, std::memory_order_relaxed);
  std::rethrow_exception(loss);
}

bool stream_state::is_idle() {
  bool idle = false;
  {
    const submission turn(m_submit_lock, "is_idle");
    m_times.close();
    // A mark does not cover work that foreign code submits after it, so the queue is queried.
    idle = m_marks.is_foreign() ? m_queue->is_idle() : has_passed(mark(urgency::now));
  }
  if (idle) return true;
  throw_if_lost();
  return false;
}

std::uint64_t stream_state::position() noexcept {
  std::uint64_t last = 0;
  {
    const submission turn(m_submit_lock);
    last = m_marks.last();
    if (m_marks.has_work()) return last + 1;
  }
  return has_passed(last) ? 0 : last;
}

bool stream_state::has_passed(std::uint64_t mark) noexcept {
  if (m_marks.passed() >= mark) return true;
  if (!m_marks.has_events()) return false;
  query_events();
  return m_marks.passed() >= mark;
}

void stream_state::synchronize() noexcept {
  try {
    m_queue->synchronize();
  } catch (const device_error&) {
    m_waiters.lose(std::current_exception());
  } catch (...) {  // no memory for the wait, which does not mean that the device is lost
    report_unhandled(*m_context->home, std::current_exception());
  }
}

void stream_state::finish() {
  {
    const submission turn(m_submit_lock, "wait for the end");
    mark(urgency::now);
  }
  synchronize();
}

bool stream_state::check(std::uint64_t now_ns, ready_list& ready,
                         std::uint64_t& stall_queries) noexcept {
  const bool by_event = m_marks.has_events();
  if (by_event) query_events();
  // Work that completed between polls is progress, not a stall.
  const bool has_progress = m_marks.passed() != m_seen;
  const bool stalled = !has_progress && now_ns > m_progress_ns + completion_poller::stall_ns;
  const bool is_well = !m_marks.is_delayed() || mark_overdue();
  // The common case: no progress, and no other thread has taken the waiters.
  if (!by_event && !stalled && is_well && !has_progress && waiters() != 0) return true;
  if (stalled) {
    m_waiters.lose(m_queue->query_error());
    m_progress_ns = now_ns;
    ++stall_queries;
  }
  const std::uint64_t now_passed = m_marks.passed();
  if (std::exchange(m_seen, now_passed) != now_passed) m_progress_ns = now_ns;
  return m_waiters.collect(now_passed, ready);
}

/// Requests the mark of a lazy request if it is overdue. Must not wait for a submitter: the next
/// poll tries again. Returns false when the device is lost.
bool stream_state::mark_overdue() noexcept {
  if (!m_marks.is_overdue() || m_submit_lock.is_capturing()) return true;
  const std::unique_lock turn(m_submit_lock, std::try_to_lock);
  if (!turn.owns_lock() || !m_marks.is_overdue()) return true;
  try {
    mark(urgency::overdue);
  } catch (const device_error&) {
    m_marks.drop_delay();
    if (!m_waiters.loss()) m_waiters.lose(std::current_exception());
    return false;
  } catch (...) {  // no memory: retried at the next poll
  }
  return true;
}

}  // namespace starling::detail
