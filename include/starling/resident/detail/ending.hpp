// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/outbox.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The end of the program on a scheduler: entry methods record a stop or a failure, which takes
/// effect between entry methods. Used by one thread.
template <class Group>
class ending {
 public:
  constexpr ending(const world& w, std::uint32_t self) noexcept : m_world(&w), m_self(self) {}

  /// Sets the running element and entry method, which failures name. Null and no_entry: none.
  constexpr void set_running(element_state* e, std::uint32_t entry) noexcept {
    m_running = e;
    m_entry = entry;
  }
  /// Returns the running entry method; no_entry: none.
  [[nodiscard]] constexpr std::uint32_t entry() const noexcept { return m_entry; }
  /// Records a failure, with the running element and entry method. Only the first failure is
  /// recorded.
  constexpr void fail(failure code, std::uint64_t first, std::uint64_t second) noexcept {
    if (m_failure != failure::none) return;
    m_phase = phase::due;
    m_failure = code;
    m_details[0] = first;
    m_details[1] = second;
    m_failed = m_running;
    m_failed_entry = m_entry;
  }
  constexpr void stop() noexcept {
    if (m_phase == phase::runs) m_phase = phase::stops;
  }
  /// Returns whether the program stops or has failed.
  [[nodiscard]] constexpr bool is_near() const noexcept { return m_phase != phase::runs; }
  /// Makes a stop due when all earlier messages to the host have been sent, or after
  /// `layout::stall_ns`.
  constexpr void see_to_stop(std::uint32_t messages_to_host) noexcept {
    if (m_phase != phase::stops) return;
    const std::uint64_t now = Group::now_ns();
    if (m_stops_since == 0) m_stops_since = now;
    if (messages_to_host == 0 || now - m_stops_since > m_world->l.stall_ns) m_phase = phase::due;
  }
  [[nodiscard]] constexpr bool is_due() const noexcept { return m_phase == phase::due; }
  /// Reports a failure to the host, and makes the schedulers of all devices end after the entry
  /// method that they run.
  constexpr void end_all() noexcept {
    if (m_failure != failure::none) tell_failure();
    for (std::uint32_t d = 0; d < m_world->l.devices; ++d)
      Group::store_release(m_world->at<std::uint32_t>(d, m_world->l.ending), 1u);
  }
  /// Reports the scheduler's counts, as its last action. The last scheduler of a device notifies
  /// the host.
  constexpr void report(std::uint64_t sent, std::uint64_t done, std::uint64_t entries) noexcept {
    scheduler_line& line = *m_world->line(m_self);
    line.sent = sent;
    line.done = done;
    line.entries_run = entries;
    const std::uint32_t device = m_world->device_of(m_self);
    if (Group::count_up(m_world->at<std::uint32_t>(device, m_world->l.ended)) + 1 ==
        m_world->l.schedulers)
      Group::store_release(&m_world->link->ended[device * 32], 1u);
  }

 private:
  enum class phase : std::uint32_t {
    runs,
    stops,  ///< an entry method has called `stop`, which is not due yet: see `see_to_stop`
    due     ///< this scheduler is about to end all schedulers, after a stop or a failure
  };

  /// Reports the failure, unless a scheduler of any device has reported one before.
  constexpr void tell_failure() noexcept {
    if (!Group::set_once(m_world->at<std::uint32_t>(0, m_world->l.failing))) return;
    failure_record& r = m_world->link->record;
    r.code = m_failure;
    r.scheduler = m_self;
    r.entry = m_failed_entry;
    r.detail[0] = m_details[0];
    r.detail[1] = m_details[1];
    if (m_failed != nullptr) {
      r.has_element = 1;
      r.array = m_failed->array;
      r.index = m_failed->index;
    }
    Group::store_release(&m_world->link->failed, 1u);
  }

  const world* m_world;
  std::uint32_t m_self;
  element_state* m_running = nullptr;
  std::uint32_t m_entry = no_entry;
  failure m_failure = failure::none;
  std::uint64_t m_details[2] = {};
  const element_state* m_failed = nullptr;
  std::uint32_t m_failed_entry = no_entry;
  std::uint64_t m_stops_since = 0;
  phase m_phase = phase::runs;
};

/// Detects that no destination takes a scheduler's messages. The host may be slow, so the time
/// begins anew while most waiting messages are for the host.
template <class Group>
class stall_watch {
 public:
  constexpr void end() noexcept { m_is_on = false; }
  /// Returns whether no message has left for `limit_ns`, in which `end` was not called.
  [[nodiscard]] constexpr bool is_over(const outbox<Group>& out, std::uint64_t limit_ns) noexcept {
    const std::uint64_t now = Group::now_ns();
    if (m_is_on && out.gone() == m_gone && 2 * out.to_host() <= out.waiting())
      return now - m_since > limit_ns;
    m_is_on = true;
    m_gone = out.gone();
    m_since = now;
    return false;
  }

 private:
  std::uint64_t m_since = 0;
  std::uint32_t m_gone = 0;  // number of messages sent before `m_since`
  bool m_is_on = false;
};

}  // namespace starling::resident::detail
