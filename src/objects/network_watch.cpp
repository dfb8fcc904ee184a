// SPDX-License-Identifier: Apache-2.0
#include "network_watch.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include <starling/core/detail/system_resources.hpp>

namespace starling::detail {
namespace {

/// Also the longest time until a failed rank is noticed while no message arrives.
constexpr int silence_ms = 100;

}  // namespace

network_watch::network_watch(runtime& owner, transport& network, std::function<void()> on_silence)
    : m_runtime(owner), m_network(network), m_on_silence(std::move(on_silence)),
      m_wake(make_event_descriptor("the watch over the network")) {
  try {
    m_thread = start_helper_thread("starling-watch", [this] { run(); });
  } catch (...) {
    ::close(m_wake);
    throw;
  }
}

network_watch::~network_watch() {
  m_state.store(ends);
  m_state.notify_one();
  const std::uint64_t one = 1;
  static_cast<void>(!::write(m_wake, &one, sizeof one));
  m_thread.join();
  ::close(m_wake);
}

bool network_watch::begin() noexcept {
  // Armed at each call, because a poll since the last call may have consumed the event.
  if (m_network.event_descriptor() < 0 || !m_network.arm()) return false;
  int state = rests;
  if (m_state.compare_exchange_strong(state, watches)) m_state.notify_one();
  return true;
}

void network_watch::run() noexcept {
  for (;;) {
    m_state.wait(rests);
    if (m_state.load() == ends) return;
    pollfd watched[] = {{m_network.event_descriptor(), POLLIN, 0}, {m_wake, POLLIN, 0}};
    const bool is_silent = ::poll(watched, 2, silence_ms) == 0;
    int state = watches;
    if (!m_state.compare_exchange_strong(state, rests)) return;
    if (is_silent) m_on_silence();
    m_runtime.notify_pollers();
  }
}

}  // namespace starling::detail
