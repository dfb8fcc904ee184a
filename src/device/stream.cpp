// SPDX-License-Identifier: Apache-2.0
#include <starling/device/stream.hpp>

#include <exception>
#include <string>

#include "argument_check.hpp"
#include "device_impl.hpp"
#include "stream_state.hpp"
#include "waiter_future.hpp"

namespace starling {

stream::stream(detail::stream_state& adopted) noexcept : m_state(&adopted) { adopted.borrow(); }

stream::~stream() {
  if (m_state != nullptr) m_state->give_back();
}

detail::stream_state& stream::state() const {
  if (m_state == nullptr)
    throw usage_error("use of an empty stream: default-constructed or moved from");
  return *m_state;
}

stream_id stream::id() const { return state().id(); }
device& stream::device() const { return *state().context().owner; }
backend_kind stream::backend() const { return state().context().traits.kind; }

void stream::copy_bytes(void* dst, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  const detail::transfer one{dst, src, bytes};
  state().copy({&one, 1});
}

void stream::pull_bytes(void* dst, const void* src, std::size_t bytes) {
  if (bytes != 0) state().pull({dst, src, bytes});
}

event stream::record() { return state().record(); }

void stream::wait(const event& point) {
  if (point.state() != nullptr) state().wait(point.state());
}

completion_awaiter stream::completion() const { return completion_awaiter(state()); }

future<void> stream::get_future() const { return future_of(false); }
future<void> stream::get_lazy_future() const { return future_of(true); }

future<void> stream::future_of(bool lazy) const {
  detail::stream_state& s = state();
  auto* block = new detail::waiter_future<detail::completion_node>;
  future<void> result(block);
  try {
    if (!s.subscribe(*block, lazy ? detail::urgency::lazy : detail::urgency::now)) block->finish();
  } catch (const device_error&) {
    block->error = std::current_exception();
    block->finish();
  } catch (...) {
    block->finish();  // so that `result` can free it
    throw;
  }
  return result;
}

bool stream::is_idle() const { return state().is_idle(); }

void* stream::native_handle(backend_kind family) const { return state().native_handle(family); }

void stream::check_extent(const range& extent, detail::kernel_entry& entry, std::int64_t most) {
  detail::require_extent("stream", extent, entry, most);
}

void stream::check_sizes(std::size_t to, std::size_t from) {
  detail::require_sizes("stream", to, from);
}

void stream::launch(const detail::kernel_call& call) { state().launch(call); }

void stream::fill_elements(void* dst, const void* value, std::size_t element, std::size_t count) {
  if (count != 0) state().fill(dst, value, element, count);
}

stream::capture_scope::capture_scope(stream& target) : m_target(&target.state()) {
  m_target->begin_capture();
}

graph stream::capture_scope::finish() { return std::exchange(m_target, nullptr)->end_capture(); }

stream::capture_scope::~capture_scope() {
  if (m_target == nullptr) return;
  try {
    static_cast<void>(m_target->end_capture());
  } catch (const std::exception&) {
    // The exception of record_work is already being propagated.
  }
}

bool event::is_complete() const { return m_point == nullptr || m_point->is_complete(); }

completion_awaiter graph::launch(stream& target) const {
  if (m_recording == nullptr) throw usage_error("launch of an empty graph");
  target.state().launch_graph(m_recording);
  return target.completion();
}

std::size_t graph::size() const noexcept {
  return m_recording == nullptr ? 0 : m_recording->size();
}

}  // namespace starling
