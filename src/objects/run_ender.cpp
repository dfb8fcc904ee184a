// SPDX-License-Identifier: Apache-2.0
#include "run_ender.hpp"

#include <algorithm>
#include <utility>

#include <starling/core/detail/system_resources.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/runtime.hpp>

namespace starling::detail {

run_ender::run_ender(object_space& space, transport& network, std::chrono::milliseconds patience)
    : m_space(space), m_network(network), m_patience(patience),
      m_thread(start_helper_thread("starling-end", [this] { run(); })) {}

run_ender::~run_ender() { stop(); }

void run_ender::stop() noexcept {
  {
    const std::lock_guard lock(m_mutex);
    m_stops = true;
  }
  m_changed.notify_one();
  if (m_thread.joinable()) m_thread.join();
}

void run_ender::watch_workers() noexcept {
  const std::lock_guard lock(m_mutex);
  m_watches = true;
}

void run_ender::fail(const std::exception_ptr& error, bool is_of_all) noexcept {
  const std::lock_guard lock(m_mutex);
  if (std::exchange(m_has_failed, true)) return;
  m_error = error;
  m_is_of_all = is_of_all;
  m_changed.notify_one();
}

void run_ender::give(std::unique_ptr<received_call> m) {
  const std::lock_guard lock(m_mutex);
  m_received.push_back(std::move(m));
  m_changed.notify_one();
}

void run_ender::run() noexcept {
  std::unique_lock lock(m_mutex);
  while (!m_stops) {
    m_changed.wait_for(lock, m_patience,
                       [this] { return m_stops || m_error != nullptr || !m_received.empty(); });
    const std::exception_ptr error = std::exchange(m_error, nullptr);
    const auto received = std::exchange(m_received, {});
    const bool may_poll = m_watches && error == nullptr && received.empty();
    lock.unlock();
    if (error != nullptr && m_is_of_all) m_space.end_run_here(error);
    if (error != nullptr && !m_is_of_all) m_space.end_run(error);
    for (const auto& a : received) static_cast<void>(a->perform());
    if (may_poll) poll_for_busy_workers();
    lock.lock();
  }
}

/// Polls if no worker has polled since the last call, except while a worker sleeps: then
/// network_watch detects messages, and a poll would consume its event.
void run_ender::poll_for_busy_workers() noexcept {
  const std::uint64_t polls = m_polls.load(std::memory_order_relaxed);
  const bool is_unchanged = std::exchange(m_seen_polls, polls) == polls;
  const auto is_asleep = [](const worker* w) { return w->is_asleep(); };
  if (!is_unchanged || std::ranges::any_of(m_space.workers(), is_asleep)) return;
  // Until this poll ends, a message may be counted as received but not yet passed to its worker:
  // the rank is not quiescent.
  const external_work is_polling = m_space.owner().hold_external_work();
  static_cast<void>(m_network.progress());
}

}  // namespace starling::detail
