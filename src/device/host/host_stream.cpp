// SPDX-License-Identifier: Apache-2.0
#include "host_stream.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/error.hpp>

namespace starling::detail {

namespace {
constexpr int turn = 64;  // operations that a strand runs before it yields

constexpr double task_ns = 20'000;          // duration of work that is worth a separate task
constexpr std::uint32_t measure_each = 32;  // of 32 cheap operations one is measured again
constexpr std::int64_t sample_parts = 16;   // a measurement runs 1/16 of an operation
}  // namespace

/// The division of an operation into tasks: its units from `first` on, at least `grain` in a task.
struct host_stream::division {
  std::int64_t first;
  std::int64_t grain;
  [[nodiscard]] bool pays(const parallel_operation& o) const noexcept {
    return o.units - first >= 2 * grain;
  }
};

/// Parks the strand until a submitter schedules it.
struct host_stream::park_awaiter {
  host_stream& stream;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {
    // After this exchange a submitter may resume the strand on another worker, so from here on the
    // code accesses the stream only, not the strand's frame. The thread that exchanges false for
    // true schedules the strand. The lock makes wait_until_parked() wait until this function is
    // left.
    host_stream& s = stream;
    const std::lock_guard lock(s.m_running);
    s.m_awake.exchange(false, std::memory_order_acq_rel);
    if (!s.is_empty() && !s.m_awake.exchange(true, std::memory_order_acq_rel))
      schedule(s.m_strand.promise());
  }
  void await_resume() const noexcept {}
};

/// Suspends the strand until the event at the front of the queue is passed.
struct host_stream::event_awaiter {
  host_stream& stream;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept {
    host_stream& s = stream;
    std::shared_ptr<backend_event> point;
    {
      std::lock_guard lock(s.m_running);
      const host_operation* front = s.m_done->next.load(std::memory_order_acquire);
      // A helper may have found the event passed and run the operations after it.
      if (front == nullptr || front->what != host_operation::kind::wait) return false;
      point = static_cast<const wait_operation*>(front)->point;
    }
    return static_cast<host_event&>(*point).subscribe(s.m_strand.promise());
  }
  void await_resume() const noexcept {}
};

/// Suspends the strand until the last chunk of the operation at the front is done.
struct host_stream::chunks_awaiter {
  host_split& split;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept { return split.leave(); }
  void await_resume() const noexcept {}
};

host_stream::host_stream(const host_context& context, const stream_request& request)
    : m_context(&context), m_request(request),
      m_executor(context.owner->get_executor(request.priority)),
      m_name("stream " + std::to_string(request.id.value)), m_strand(run()),
      m_tail(make_operation<start_operation>()), m_done(m_tail) {
  m_strand.settle(*context.home, request.priority);
}

host_stream::~host_stream() {
  wait_until_parked();
  for (host_operation* o = m_done; o != nullptr;) {
    host_operation* following = o->next.load(std::memory_order_relaxed);
    destroy(std::exchange(o, following));
  }
}

/// Waits until the strand is parked. A helper may have emptied the queue while the strand,
/// scheduled for the same work, still waits for a worker; its frame must not be destroyed before it
/// has run.
void host_stream::wait_until_parked() noexcept {
  for (;; std::this_thread::yield()) {
    const std::lock_guard lock(m_running);
    if (!m_awake.load(std::memory_order_relaxed)) return;
  }
}

// --- submission and waiting in place

bool host_stream::is_empty() const noexcept {
  return m_retired.load(std::memory_order_relaxed) == m_queued.load(std::memory_order_relaxed);
}

void host_stream::push(host_operation* operation) noexcept {
  m_tail->next.store(operation, std::memory_order_release);
  m_tail = operation;
  m_queued.store(m_queued.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (!m_awake.exchange(true, std::memory_order_acq_rel)) schedule(m_strand.promise());
}

void host_stream::submit(parallel_operation* operation) {
  if (m_capture == nullptr) return push(operation);
  std::unique_ptr<parallel_operation, operation_deleter> kept(operation);
  m_capture->operations.push_back(std::move(kept));
}

void host_stream::launch(const kernel_call& call) { submit(make_kernel_operation(call)); }

void host_stream::copy(std::span<const transfer> transfers, member_observer* observer) {
  submit(make_copy_operation(transfers, observer));
}

bool host_stream::run_sequences(std::span<const operation_list* const> sequences,
                                member_observer& observer) {
  // With fewer sequences than workers, some workers would be idle.
  if (sequences.size() < m_context->owner->worker_count()) return false;
  submit(make_sequences_operation(sequences, observer));
  return true;
}

void host_stream::fill(void* dst, const void* value, std::size_t element, std::size_t count) {
  submit(make_fill_operation(dst, value, element, count));
}

void host_stream::record(const std::shared_ptr<backend_event>& point) {
  static_cast<host_event&>(*point).assign(*this);
  push(make_operation<record_operation>(point));
}

void host_stream::wait(const std::shared_ptr<backend_event>& point, dependency what) {
  push(make_operation<wait_operation>(point, what));
}

void host_stream::wait_native(void*) {
  throw usage_error("streams of the host backend know no native events");
}

void host_stream::mark(const completion_mark& request) {
  if (request.point) static_cast<host_event&>(*request.point).assign(*this);
  push(make_operation<mark_operation>(request));
}

void host_stream::begin_capture() { m_capture = std::make_shared<host_graph>(); }

std::shared_ptr<backend_graph> host_stream::end_capture() {
  return std::exchange(m_capture, nullptr);
}

void host_stream::launch_graph(const std::shared_ptr<backend_graph>& recording) {
  for (const auto& o : static_cast<const host_graph&>(*recording).operations) push(clone(*o));
}

void host_stream::synchronize() {
  const std::uint64_t target = m_queued.load(std::memory_order_relaxed);
  // Acquire: the writes of the operations are visible.
  while (m_retired.load(std::memory_order_acquire) < target)
    if (!help()) std::this_thread::yield();
}

/// Runs operations on the calling thread. Returns false when another thread runs them or the front
/// operation waits for an event.
bool host_stream::help() noexcept {
  const std::unique_lock lock(m_running, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (m_split != nullptr) {
    if (!m_split->is_over()) return false;
    end_split();  // ends it here: the strand may need the worker that this thread occupies
  }
  return drain(runner::helper) != stop::event;
}

// --- execution

strand host_stream::run() {
  for (;;) {
    stop why;
    {
      std::lock_guard lock(m_running);
      if (m_split != nullptr) end_split();
      why = drain(runner::strand);
    }
    switch (why) {
      case stop::empty:
        co_await park_awaiter{*this};
        break;
      case stop::event:
        co_await event_awaiter{*this};
        break;
      case stop::chunks:
        co_await chunks_awaiter{*m_split};
        break;
      case stop::turn_over:
        co_await yield();
        break;
    }
  }
}

host_stream::stop host_stream::drain(runner who) noexcept {
  for (int i = 0; i < turn; ++i) {
    // Acquire pairs with push(): the operation is complete.
    host_operation* front = m_done->next.load(std::memory_order_acquire);
    if (front == nullptr) return stop::empty;
    if (const auto blocked = execute(*front, who)) return *blocked;
    retire();
    if (m_context->chaos && m_context->owner->chaos(4) == 1) break;
  }
  return stop::turn_over;
}

void host_stream::retire() noexcept {
  host_operation* finished = m_done->next.load(std::memory_order_relaxed);
  destroy(std::exchange(m_done, finished));
  m_retired.store(m_retired.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::optional<host_stream::stop> host_stream::execute(host_operation& operation,
                                                      runner who) noexcept {
  switch (operation.what) {
    case host_operation::kind::parallel:
      return execute_parallel(static_cast<parallel_operation&>(operation), who);
    case host_operation::kind::wait:
      return execute_wait(static_cast<wait_operation&>(operation), who);
    case host_operation::kind::record:
      static_cast<host_event&>(*static_cast<record_operation&>(operation).point).pass(m_error);
      break;
    case host_operation::kind::mark:
      execute_mark(static_cast<mark_operation&>(operation).request);
      break;
    case host_operation::kind::start:
      break;
  }
  return std::nullopt;
}

std::optional<host_stream::stop> host_stream::execute_parallel(parallel_operation& o,
                                                               runner who) noexcept {
  if (m_error) return std::nullopt;
  const bool traced = m_context->owner->tracer().enabled();
  if (traced) m_begin_ns = tracer::now();
  try {
    division d{0, o.units};
    if (who == runner::strand && m_context->may_split) d = divide(o);
    if (d.pays(o) && begin_split(o, d)) {
      m_split->take_part();
      return stop::chunks;
    }
    o.run(o, d.first, o.units);
  } catch (...) {
    fail(o.name, std::current_exception());
  }
  if (traced) trace(o);
  return std::nullopt;
}

/// Divides an operation. May run its first units to measure their cost.
host_stream::division host_stream::divide(const parallel_operation& o) {
  const division as_stated{0, o.grain};
  if (o.cost == nullptr || as_stated.pays(o) || o.units < 3 || !may_be_costly(o)) return as_stated;
  return measure(o);
}

/// Returns whether an operation is to be measured. Reading the clock would slow down cheap
/// operations.
bool host_stream::may_be_costly(const parallel_operation& o) noexcept {
  const float known = o.cost->load(std::memory_order_relaxed);
  const bool is_cheap = known != 0 && double(known) * double(o.units) < 2 * task_ns;
  return !is_cheap || ++m_unmeasured % measure_each == 0;
}

host_stream::division host_stream::measure(const parallel_operation& o) {
  const std::int64_t sample = std::max<std::int64_t>(1, o.units / sample_parts);
  const std::uint64_t begin = tracer::now();
  o.run(o, 0, sample);
  const double took = double(std::max<std::uint64_t>(1, tracer::now() - begin));
  const double each = took / double(sample);
  o.cost->store(static_cast<float>(each), std::memory_order_relaxed);
  return {sample, std::max<std::int64_t>(1, std::int64_t(task_ns / each))};
}

/// Splits an operation into chunks. Returns false if memory is exhausted: the operation then runs
/// in one piece.
bool host_stream::begin_split(const parallel_operation& o, const division& d) noexcept {
  const int helpers = static_cast<int>(m_context->owner->worker_count()) - 1;
  try {
    m_split = new host_split(o, d.first, d.grain, m_executor, helpers, m_strand.promise());
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

/// Retires the operation at the front, after all its chunks are done.
void host_stream::end_split() noexcept {
  const auto& o =
      static_cast<const parallel_operation&>(*m_done->next.load(std::memory_order_relaxed));
  if (m_split->error()) fail(o.name, m_split->error());
  std::exchange(m_split, nullptr)->release();
  if (m_begin_ns != 0) trace(o);
  retire();
}

std::optional<host_stream::stop> host_stream::execute_wait(const wait_operation& o,
                                                           runner who) noexcept {
  auto& point = static_cast<host_event&>(*o.point);
  if (!point.has_passed() && who == runner::helper && point.recorder() != nullptr)
    static_cast<void>(point.recorder()->help());
  if (!point.has_passed()) return stop::event;
  // The awaited work has failed, so the work of this stream that depends on it fails too.
  if (o.what_for == dependency::data && point.error() && !m_error) m_error = point.error();
  return std::nullopt;
}

void host_stream::execute_mark(const completion_mark& request) noexcept {
  if (m_error) request.listener->failed(request.sequence, std::exchange(m_error, nullptr));
  if (request.how == completion_kind::event)
    static_cast<host_event&>(*request.point).pass(nullptr);
  else
    request.listener->reached(request.sequence);
}

void host_stream::fail(const char* what, const std::exception_ptr& cause) noexcept {
  try {
    m_error = std::make_exception_ptr(
        device_error(std::string("'") + what + "' failed on " + m_context->label + " device " +
                     std::to_string(m_context->device) + ", " + m_name + ": " + error_text(cause)));
  } catch (...) {
    m_error = cause;  // no memory for the message
  }
}

void host_stream::trace(const parallel_operation& o) noexcept {
  starling::tracer& t = m_context->owner->tracer();
  try {
    if (!m_track)
      m_track = t.open_track(
          std::string(m_context->label) + " device " + std::to_string(m_context->device), m_name);
  } catch (const std::bad_alloc&) {  // the span is dropped
    return;
  }
  t.span(*m_track, o.trace_kind, o.name, m_begin_ns, tracer::now());
}

}  // namespace starling::detail
