// SPDX-License-Identifier: Apache-2.0
#include "completion_poller.hpp"

#include <utility>

namespace starling::detail {

void completion_poller::poll(ready_list& ready) noexcept {
  if (m_watch_count.load(std::memory_order_relaxed) == 0) return;
  for (stream_state* s = m_arrived.exchange(nullptr, std::memory_order_acquire); s != nullptr;) {
    stream_state* const following = s->next_watched;
    s->next_watched = std::exchange(m_watched, s);
    s = following;
  }
  const std::uint64_t now = worker::current()->coarse_now();
  std::uint64_t queries = 0;
  for (stream_state** link = &m_watched; *link != nullptr;) {
    stream_state& s = **link;
    // When check() returns false, any thread may push the stream to m_arrived again. Its link must
    // therefore be read before the call.
    stream_state* const following = s.next_watched;
    if (s.check(now, ready, queries)) {
      link = &s.next_watched;
    } else {
      *link = following;
      m_watch_count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (queries != 0) m_stall_queries.fetch_add(queries, std::memory_order_relaxed);
}

std::size_t completion_poller::in_flight() const noexcept {
  std::size_t sum = 0;
  for (const stream_state* s = m_enrolled.load(std::memory_order_acquire); s != nullptr;
       s = s->next_enrolled)
    sum += s->waiters();
  return sum;
}

bool completion_poller::needs_polling() const noexcept {
  return m_must_poll && m_watch_count.load(std::memory_order_seq_cst) != 0;
}

std::uint64_t completion_poller::next_deadline() const noexcept {
  return m_watch_count.load(std::memory_order_seq_cst) == 0 ? 0 : tracer::now() + stall_ns;
}

void completion_poller::watch(stream_state& s) noexcept {
  const bool first = m_watch_count.fetch_add(1, std::memory_order_seq_cst) == 0;
  s.next_watched = m_arrived.load(std::memory_order_relaxed);
  while (!m_arrived.compare_exchange_weak(s.next_watched, &s, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  // Only the owner's workers poll. The calling worker may compute for long before it polls, so for
  // the first watched stream another worker is woken. For later streams one is awake already.
  if ((first && m_must_poll) || runtime::current() != m_owner) m_owner->notify_pollers();
}

void completion_poller::enroll(stream_state& s) noexcept {
  s.next_enrolled = m_enrolled.load(std::memory_order_relaxed);
  while (!m_enrolled.compare_exchange_weak(s.next_enrolled, &s, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

}  // namespace starling::detail
