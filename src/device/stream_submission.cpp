// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "argument_check.hpp"
#include "device_impl.hpp"
#include "stream_state.hpp"

/// Submissions of stream_state.
namespace starling::detail {

void stream_state::note(span_kind kind, const char* name, bool captured) {
  if (m_context->traits.traces) return;
  if (captured)
    m_captured.push_back({kind, name});
  else if (m_context->tracer->enabled())
    m_context->tracer->count(kind, name);
}

/// Requests the mark of a lazy request. Called before the submission of work for which the waiter
/// of that request must not wait.
void stream_state::end_delay() {
  if (m_marks.is_delayed()) mark(urgency::now);
}

/// Queues a redundant barrier, as some runtimes do between operations of an in-order queue.
void stream_state::put_barrier() {
  const std::shared_ptr<backend_event> point = m_context->owner->internals().backend->make_event();
  m_queue->record(point);
  m_queue->wait(point, dependency::order);
}

/// Submits an operation that a graph may hold. The marks and the barrier come before the operation:
/// even a refused operation may be queued in part, so that there is work, and an operation that is
/// queued must not fail because of a refused barrier.
template <class Operation>
void stream_state::submit(delay lazy_mark, span_kind kind, const char* name,
                          const charged_accounts* members, const Operation& enqueue) {
  const charged_accounts accounts = members == nullptr ? accounts_of_caller() : charged_accounts();
  {
    const submission turn(m_submit_lock);
    if (!turn.captured()) {
      if (lazy_mark == delay::ends) end_delay();
      m_marks.note_work();
      if (m_context->barriers) [[unlikely]]
        put_barrier();
      m_times.begin(*m_queue, members == nullptr ? accounts : *members);
    }
    try {
      enqueue();
    } catch (...) {
      if (!turn.captured()) m_times.close();
      throw;
    }
    if (!turn.captured()) m_times.end(*m_queue);
    note(kind, name, turn.captured());
  }
  if (!accounts.empty()) m_context->times->settle_if_due();
}

void stream_state::launch(const kernel_call& call, const charged_accounts* members) {
  if (call.shape.scratch_bytes > m_context->most_scratch) [[unlikely]]
    require_scratch("stream", call, *m_context->owner);
  submit(delay::ends, span_kind::kernel, call.entry->name(), members,
         [&] { m_queue->launch(call); });
}

void stream_state::copy(std::span<const transfer> transfers, member_observer* observer,
                        const charged_accounts* members) {
  submit(delay::ends, span_kind::copy, "copy", members,
         [&] { m_queue->copy(transfers, observer); });
}

void stream_state::pull(const transfer& one) {
  submit(delay::goes_on, span_kind::copy, "copy", nullptr, [&] {
    m_queue->copy({&one, 1}, nullptr);
  });
}

bool stream_state::run_sequences(std::span<const operation_list* const> sequences,
                                 member_observer& observer, const charged_accounts& members) {
  const submission turn(m_submit_lock, "an aggregated batch");
  end_delay();
  m_times.begin(*m_queue, members);
  if (!m_queue->run_sequences(sequences, observer)) return false;
  m_times.end(*m_queue);
  m_marks.note_work();
  return true;
}

void stream_state::fill(void* dst, const void* value, std::size_t element, std::size_t count) {
  submit(delay::ends, span_kind::copy, "fill", nullptr,
         [&] { m_queue->fill(dst, value, element, count); });
}

event stream_state::record() {
  const submission turn(m_submit_lock, "record");
  m_times.close();  // others may wait for the event, and read the load then
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
  const submission turn(m_submit_lock, "wait");
  if (point->origin == this && !turn.captured()) return;  // implied by the stream's order
  end_delay();
  m_times.close();  // waiting is not work
  m_queue->wait(point, what);
  m_marks.note_work();
}

void stream_state::wait_native(void* event) {
  const submission turn(m_submit_lock, "wait");
  end_delay();
  m_times.close();
  m_queue->wait_native(event);
  m_marks.note_work();
}

void stream_state::launch_graph(const std::shared_ptr<backend_graph>& recording) {
  const submission turn(m_submit_lock, "launch of a graph");
  if (recording->origin != m_context->owner)
    throw usage_error("graph::launch: captured on another device than that of the stream");
  end_delay();
  m_marks.note_work();
  m_times.close();
  m_times.begin(*m_queue, accounts_of_caller());
  m_queue->launch_graph(recording);
  m_times.end(*m_queue);
  if (m_context->tracer->enabled())
    for (const backend_graph::operation& o : recording->contents)
      m_context->tracer->count(o.kind, o.name);
}

void stream_state::begin_capture() {
  if (m_submit_lock.is_capturing()) throw usage_error("stream::capture inside capture");
  std::unique_lock turn(m_submit_lock);
  end_delay();  // a mark must not be captured
  m_queue->begin_capture();
  m_captured.clear();
  m_submit_lock.begin_capture();
  turn.release();  // held until end_capture()
}

graph stream_state::end_capture() {
  m_submit_lock.end_capture();
  const std::lock_guard turn(m_submit_lock, std::adopt_lock);
  std::shared_ptr<backend_graph> recording = m_queue->end_capture();
  recording->origin = m_context->owner;
  recording->contents = std::exchange(m_captured, {});
  return graph(std::move(recording));
}

void* stream_state::native_handle(backend_kind family) {
  const submission turn(m_submit_lock);
  const bool is_of_family = m_context->traits.family == family;
  void* handle = is_of_family ? m_queue->native() : nullptr;
  if (handle == nullptr)
    throw usage_error(std::string("stream::native: streams of the ") +
                      to_string(m_context->traits.kind) + " backend have no handle of " +
                      to_string(family) + " here; stream::backend returns the backend");
  end_delay();
  m_times.close();
  m_marks.note_submitters(submitters::foreign_for_a_loan);
  return handle;
}

}  // namespace starling::detail
