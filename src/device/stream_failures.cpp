// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include <starling/core/error.hpp>

#include "completion_poller.hpp"
#include "stream_state.hpp"

/// Failures of stream_state: each is kept until a waiter gets it or no waiter can get it any more.
namespace starling::detail {

namespace {
constexpr int remembered_failures = 16;  // records kept after delivery to a waiter, per stream
}

/// Returns whether `f` belongs to the node's stretch, or to an earlier stretch of the same users
/// and is not delivered yet.
bool stream_state::concerns(const failure& f, const completion_node& node) noexcept {
  if (f.sequence <= node.after || f.first > node.sequence) return false;
  return f.sequence >= node.sequence || !f.observed;
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

/// Returns whether no waiter can get `f` any more.
bool stream_state::is_stale(const failure& f) const noexcept {
  if (f.sequence > m_released) return false;
  for (const completion_node* n = m_head; n != nullptr; n = n->next)
    if (concerns(f, *n)) return false;
  return true;
}

/// Removes stale failures and reports the failures that no waiter has received; one at a time,
/// because a list would need memory.
void stream_state::report_stale_failures() noexcept {
  for (;;) {
    failure found{};
    {
      std::lock_guard lock(m_wait_lock);
      const auto stale =
          std::ranges::find_if(m_failures, [this](const failure& f) { return is_stale(f); });
      if (stale == m_failures.end()) return;
      found = std::move(*stale);
      m_failures.erase(stale);
    }
    if (!found.observed) report_unhandled(*m_context->home, std::move(found.error));
  }
}

void stream_state::failed(std::uint64_t sequence, std::exception_ptr error) noexcept {
  {
    std::lock_guard lock(m_wait_lock);
    // Delivered errors are kept for a while: another waiter of the same stretch may have its mark
    // without being in the list yet.
    if (std::ranges::count(m_failures, true, &failure::observed) >= remembered_failures)
      m_failures.erase(std::ranges::find(m_failures, true, &failure::observed));
    remember(sequence, std::move(error));
  }
  report_stale_failures();
}

/// Records a failure. Without memory for a new record, the last record also covers this batch.
void stream_state::remember(std::uint64_t sequence, std::exception_ptr error) noexcept {
  try {
    m_failures.push_back({sequence, sequence, std::move(error), false});
  } catch (const std::bad_alloc&) {
    m_failures.back().sequence = sequence;
    m_failures.back().observed = false;
  }
}

/// Throws the error of a lost device. Queries the device, because the poller does so only for
/// streams with waiters, and is_idle() adds none.
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

}  // namespace starling::detail
