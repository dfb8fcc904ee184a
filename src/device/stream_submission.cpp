// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "argument_check.hpp"
#include "device_impl.hpp"
#include "stream_state.hpp"
#include "submission.hpp"

/// Submissions of stream_state.
namespace starling::detail {

/// Prepares the stream for an operation. Called before it is queued: a refused operation may be
/// queued in part, so the stream is dirty in any case, and an operation already queued must not
/// fail because of a refused barrier.
void stream_state::prepare(bool captured) {
  if (captured) return;
  end_delay();
  m_dirty = true;
  if (m_context->barriers) [[unlikely]]
    put_barrier();
}

void stream_state::note(span_kind kind, const char* name, bool captured) {
  if (m_context->traits.traces) return;
  if (captured)
    m_captured.push_back({kind, name});
  else if (m_context->tracer->enabled())
    m_context->tracer->count(kind, name);
}

/// Requests a delayed mark. Called before work that the lazy waiter must not wait for.
void stream_state::end_delay() {
  if (m_is_delayed.load(std::memory_order_relaxed)) static_cast<void>(request_mark());
}

/// Returns whether a lazy mark may be delayed, because a word between two copies costs a device as
/// much as a small copy. The poller then requests an event, at the first poll after the previous
/// mark is passed. Only for polled backends.
bool stream_state::may_delay() const noexcept {
  return m_dirty && !m_foreign && !m_context->traits.notifies && !m_context->barriers &&
         m_context->completion == completion_kind::word;
}

/// Requests the delayed mark if it is due. Called by the poller, which must not wait for a
/// submitter and retries at the next poll. Returns false when the device is lost.
bool stream_state::put_delayed_mark() noexcept {
  const auto is_due = [this] { return passed() >= m_marks.load(std::memory_order_relaxed); };
  if (!is_due() || m_capturer.load(std::memory_order_relaxed) == thread_token()) return true;
  const std::unique_lock turn(m_submit_lock, std::try_to_lock);
  if (!turn.owns_lock() || !m_is_delayed.load(std::memory_order_relaxed) || !is_due()) return true;
  try {
    static_cast<void>(request_mark(true));
  } catch (const device_error&) {
    m_is_delayed.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(m_wait_lock);
    if (!m_fatal) m_fatal = std::current_exception();
    return false;
  } catch (...) {  // no memory: retried at the next poll
  }
  return true;
}

/// Queues a redundant barrier, as some runtimes do between operations of an in-order queue.
void stream_state::put_barrier() {
  const std::shared_ptr<backend_event> point = m_context->owner->internals().backend->make_event();
  m_queue->record(point);
  m_queue->wait(point, dependency::order);
}

void stream_state::launch(const kernel_call& call) {
  if (call.shape.scratch_bytes > m_context->most_scratch) [[unlikely]]
    require_scratch("stream", call, *m_context->owner);
  const submission turn(*this);
  prepare(turn.captured());
  m_queue->launch(call);
  note(span_kind::kernel, call.entry->name(), turn.captured());
}

void stream_state::copy(std::span<const transfer> transfers, member_observer* observer) {
  const submission turn(*this);
  prepare(turn.captured());
  m_queue->copy(transfers, observer);
  note(span_kind::copy, "copy", turn.captured());
}

void stream_state::pull(const transfer& one) {
  const submission turn(*this);
  if (m_is_delayed.load(std::memory_order_relaxed))
    m_dirty = true;
  else
    prepare(turn.captured());
  m_queue->copy({&one, 1}, nullptr);
  note(span_kind::copy, "copy", turn.captured());
}

bool stream_state::run_sequences(std::span<const operation_list* const> sequences,
                                 member_observer& observer) {
  const submission turn(*this, "an aggregated batch");
  end_delay();
  if (!m_queue->run_sequences(sequences, observer)) return false;
  m_dirty = true;
  return true;
}

void stream_state::fill(void* dst, const void* value, std::size_t element, std::size_t count) {
  const submission turn(*this);
  prepare(turn.captured());
  m_queue->fill(dst, value, element, count);
  note(span_kind::copy, "fill", turn.captured());
}

event stream_state::record() {
  const submission turn(*this, "record");
  std::shared_ptr<backend_event> point = m_context->owner->internals().backend->make_event();
  m_queue->record(point);
  if (!turn.captured()) point->origin = this;
  return event(std::move(point));
}

void stream_state::wait(const std::shared_ptr<backend_event>& point, dependency what) {
  if (point->kind() != m_context->traits.family)
    throw usage_error(std::string("stream::wait: a ") + to_string(m_context->traits.kind) +
                      " stream cannot wait for an event of a " + to_string(point->kind()) +
                      " stream; await its completion instead");
  const submission turn(*this, "wait");
  if (point->origin == this && !turn.captured()) return;  // implied by the stream's order
  end_delay();
  m_queue->wait(point, what);
  m_dirty = true;
}

void stream_state::wait_native(void* event) {
  const submission turn(*this, "wait");
  end_delay();
  m_queue->wait_native(event);
  m_dirty = true;
}

void stream_state::launch_graph(const std::shared_ptr<backend_graph>& recording) {
  const submission turn(*this, "launch of a graph");
  if (recording->origin != m_context->owner)
    throw usage_error("graph::launch: captured on another device than that of the stream");
  end_delay();
  m_dirty = true;
  m_queue->launch_graph(recording);
  if (m_context->tracer->enabled())
    for (const backend_graph::operation& o : recording->contents)
      m_context->tracer->count(o.kind, o.name);
}

void stream_state::begin_capture() {
  if (m_capturer.load(std::memory_order_relaxed) == thread_token())
    throw usage_error("stream::capture inside capture");
  m_submit_lock.lock();
  try {
    end_delay();  // a mark must not be captured
    m_queue->begin_capture();
  } catch (...) {
    m_submit_lock.unlock();
    throw;
  }
  m_captured.clear();
  m_capturer.store(thread_token(), std::memory_order_relaxed);
}

graph stream_state::end_capture() {
  m_capturer.store(nullptr, std::memory_order_relaxed);
  std::lock_guard lock(m_submit_lock, std::adopt_lock);
  std::shared_ptr<backend_graph> recording = m_queue->end_capture();
  recording->origin = m_context->owner;
  recording->contents = std::exchange(m_captured, {});
  return graph(std::move(recording));
}

void* stream_state::native_handle(backend_kind family) {
  const submission turn(*this);
  const bool is_of_family = m_context->traits.family == family;
  void* handle = is_of_family ? m_queue->native() : nullptr;
  if (handle == nullptr)
    throw usage_error(std::string("stream::native: streams of the ") +
                      to_string(m_context->traits.kind) + " backend have no handle of " +
                      to_string(family) + " here; stream::backend returns the backend");
  end_delay();
  m_foreign = true;
  return handle;
}

}  // namespace starling::detail
