// SPDX-License-Identifier: Apache-2.0
#include "collector.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <starling/core/trace.hpp>

#include "device_impl.hpp"
#include "stream_state.hpp"

namespace starling::detail {

bool commit(batch_member& m) { return m.target->commit(m); }
bool withdraw(batch_member& m) noexcept { return m.target->withdraw(m); }
void cancel(batch_member& m) noexcept { m.target->cancel(m); }
void keep_collector(batch_member& m) noexcept { m.target->keep(); }
void let_collector_go(batch_member& m) noexcept { m.target->let_go(); }

/// Parks the pump until a batch may be launched on its stream.
struct collector::park_awaiter {
  collector& home;
  pumped_stream& mine;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept {
    // Once the lock is released, another thread may resume the pump.
    const std::lock_guard lock(home.m_lock);
    mine.pumping = home.m_oldest != nullptr && home.has_room(mine);
    return !mine.pumping;
  }
  void await_resume() const noexcept {}
};

collector::collector(starling::device& target, const aggregation& how, starling::priority priority)
    : m_device(&target), m_how(how), m_name(std::string(to_string(target.backend())) + " device " +
                                            std::to_string(target.id().value) + ", " + how.name),
      m_streams_with_room(how.streams) {
  for (std::size_t i = 0; i < how.streams; ++i) {
    m_streams.push_back(std::make_unique<pumped_stream>());
    m_streams.back()->queue = target.make_stream(priority);
    m_streams.back()->pump = run_pump(*m_streams.back());
    m_streams.back()->pump.settle(*target.internals().context.home, priority::high);
  }
}

collector::~collector() = default;

bool collector::commit(batch_member& m) {
  if (m.operations.empty()) return false;
  m.account = current_device_account();
  batch* leaving = nullptr;
  pumped_stream* pumped = nullptr;
  // On a thread outside the runtime: tasks may wait for the batch that this thread launches, which
  // is not a hang.
  std::optional<external_work> outside;
  if (runtime::current() != &m_device->owner()) [[unlikely]]
    outside.emplace(m_device->owner().hold_external_work());
  {
    const std::lock_guard lock(m_lock);
    if (m.stopped) {
      m.result = device_waiter::wait_status::withdrawn;
      ++m_counts.withdrawn;
      return false;
    }
    batch& b = gathering_like(m);
    b.places.emplace_back(*this, m);
    m.in = &b;
    m.generation = b.generation;
    if (b.places.size() == m_how.most)
      leaving = depart(b, least_loaded());
    else if (m_streams_with_room != 0 && !put_off())
      leaving = depart(*m_oldest, least_loaded());
    else if (m_streams_with_room != 0 && start_pump(least_loaded()))
      pumped = &least_loaded();
    if (m.in == &b && m.generation == b.generation) {
      m.committed_ns = tracer::now();
      b.committed_ns += m.committed_ns;
      ++b.waited;
    }
  }
  // From here on `m` may be destroyed.
  if (leaving != nullptr) launch(*leaving);
  if (pumped != nullptr) schedule(pumped->pump.promise());
  return true;
}

strand collector::run_pump(pumped_stream& s) {
  for (;;) {
    // If the batch is over already, this worker may have waited for it in `launch`: other tasks run
    // first.
    while (batch* leaving = next_for(s))
      if (!launch(*leaving)) co_await yield();
    co_await park_awaiter{*this, s};
  }
}

batch* collector::next_for(pumped_stream& s) noexcept {
  const std::lock_guard lock(m_lock);
  return m_oldest != nullptr && has_room(s) ? depart(*m_oldest, s) : nullptr;
}

bool collector::launch(batch& b) noexcept {
  stream_state& queue = b.launched_on->queue.state();
  if (m_device->owner().tracer().enabled()) trace(b);
  b.error = nullptr;
  if (!b.submit(queue)) {
    const std::lock_guard lock(m_lock);
    ++m_counts.divided;
  }
  try {
    if (subscribe(queue, b)) return true;  // members will be notified, or have been already
  } catch (...) {
    b.error = std::current_exception();
    // Waits, because no mark will report the end of the submitted work, which refers to the members
    // and the batch.
    queue.synchronize();
  }
  finish(b);
  return false;
}

void collector::finish(batch& b) noexcept {
  b.tell_members();
  pumped_stream& s = *b.launched_on;
  bool pump = false;
  {
    const std::lock_guard lock(m_lock);
    if (s.in_flight-- == m_how.depth) ++m_streams_with_room;
    recycle(b);
    pump = m_oldest != nullptr && has_room(s) && start_pump(s);
  }
  if (pump) schedule(s.pump.promise());
}

bool collector::withdraw(batch_member& m) noexcept {
  const std::lock_guard lock(m_lock);
  return remove(m);
}

void collector::cancel(batch_member& m) noexcept {
  {
    const std::lock_guard lock(m_lock);
    m.stopped = true;
    if (!remove(m)) return;
  }
  m.end_wait(device_waiter::wait_status::withdrawn);
}

bool collector::remove(batch_member& m) noexcept {
  if (m.in == nullptr || m.in->generation != m.generation) return false;
  batch& b = *std::exchange(m.in, nullptr);
  // Before the member is erased: the batch's shape is read from its first member.
  if (b.places.size() == 1) dequeue(b);
  std::erase_if(b.places, [&m](const batch_place& p) { return p.member == &m; });
  b.committed_ns -= m.committed_ns;
  --b.waited;
  if (b.places.empty()) recycle(b);
  ++m_counts.withdrawn;
  return true;
}

batch& collector::gathering_like(const batch_member& m) {
  batch*& chain = m_alike[m.operations.hash() % chains];
  for (batch* b = chain; b != nullptr; b = b->next_alike)
    if (b->shape().has_shape_of(m.operations)) return *b;
  batch& fresh = unused_batch();
  fresh.next_alike = std::exchange(chain, &fresh);
  fresh.next = nullptr;
  (m_oldest == nullptr ? m_oldest : m_newest->next) = &fresh;
  m_newest = &fresh;
  return fresh;
}

batch& collector::unused_batch() {
  if (m_unused == nullptr) {
    m_batches.reserve(m_batches.size() + 1);
    m_batches.push_back(std::make_unique<batch>(*this, m_how.most));
    m_unused = m_batches.back().get();
  }
  ++m_in_use;
  return *std::exchange(m_unused, m_unused->next);
}

void collector::recycle(batch& b) noexcept {
  b.next = std::exchange(m_unused, &b);
  b.committed_ns = 0;
  b.waited = 0;
  --m_in_use;
}

void collector::dequeue(batch& b) noexcept {
  batch** link = &m_alike[b.shape().hash() % chains];
  while (*link != &b) link = &(*link)->next_alike;
  *link = b.next_alike;
  batch* before = nullptr;
  for (batch* at = m_oldest; at != &b; at = at->next) before = at;
  (before == nullptr ? m_oldest : before->next) = b.next;
  if (m_newest == &b) m_newest = before;
}

/// Removes a batch from the queue and assigns its stream. The caller launches it.
batch* collector::depart(batch& b, pumped_stream& s) noexcept {
  dequeue(b);
  ++b.generation;
  b.launched_on = &s;
  if (++s.in_flight == m_how.depth) --m_streams_with_room;
  const std::size_t size = b.places.size();
  m_counts.submissions += size;
  m_counts.launches += 1;
  m_counts.largest = std::max<std::uint64_t>(m_counts.largest, size);
  if (b.waited != 0) m_counts.waiting_ns += b.waited * tracer::now() - b.committed_ns;
  return &b;
}

pumped_stream& collector::least_loaded() noexcept {
  const auto load = [](const auto& s) { return s->in_flight; };
  return **std::ranges::min_element(m_streams, {}, load);
}

/// Returns whether chaos mode leaves this launch to the pump, so that more sequences gather
/// meanwhile.
bool collector::put_off() noexcept { return m_device->owner().chaos(4) == 1; }

bool collector::start_pump(pumped_stream& s) noexcept { return !std::exchange(s.pumping, true); }

void collector::trace(const batch& b) noexcept {
  starling::tracer& t = m_device->owner().tracer();
  try {
    const std::lock_guard lock(m_tracing);
    if (!m_track) m_track = t.open_track("aggregation", m_name);
  } catch (const std::bad_alloc&) {  // the span is dropped
    return;
  }
  const std::uint64_t now = tracer::now();
  const std::uint64_t first = b.waited == 0 ? now : b.places.front().member->committed_ns;
  t.span(*m_track, span_kind::user, m_how.name, first, now);
}

aggregation_statistics collector::statistics() const noexcept {
  const std::lock_guard lock(m_lock);
  return m_counts;
}

void collector::abandon() noexcept {
  const std::lock_guard lock(m_lock);
  m_abandoned = true;
}

bool collector::is_abandoned() const noexcept {
  const std::lock_guard lock(m_lock);
  // The keepers are read last: none is added after abandonment. Acquire pairs with let_go().
  return m_abandoned && m_in_use == 0 && std::ranges::none_of(m_streams, &pumped_stream::pumping) &&
         m_keepers.load(std::memory_order_acquire) == 0;
}

}  // namespace starling::detail
