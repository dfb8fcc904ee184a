// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/scheduler.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// Records the steps of a scheduler for the timeline: entry methods and idle times. Keeps the
/// latest records. Used by one thread.
template <class Group>
class step_trace {
 public:
  constexpr step_trace(const world& w, std::uint32_t self) noexcept
      : m_line(w.line(self)), m_records(w.trace_of(self)), m_mask(w.l.trace_records - 1),
        m_since(Group::now_ns()) {}

  /// Records the end of a step, in which entry method `entry` ran if there was one.
  constexpr void note(work what, std::uint32_t entry) noexcept {
    const std::uint64_t now = Group::now_ns();
    if (what != work::none && m_is_idle) put(m_idle_since, m_since, no_entry);
    if (what == work::none && !m_is_idle) m_idle_since = m_since;
    m_is_idle = what == work::none;
    if (what == work::entry) put(m_since, now, entry);
    m_since = now;
  }
  constexpr void end() noexcept {
    if (m_is_idle) put(m_idle_since, m_since, no_entry);
    m_line->noted = m_count;
  }

 private:
  constexpr void put(std::uint64_t begin, std::uint64_t end, std::uint32_t entry) noexcept {
    m_records[m_count++ & m_mask] = {begin, end, entry};
  }

  scheduler_line* m_line;
  trace_record* m_records;
  std::uint32_t m_mask;
  std::uint32_t m_count = 0;
  std::uint64_t m_since;
  std::uint64_t m_idle_since = 0;
  bool m_is_idle = false;
};

}  // namespace starling::resident::detail
