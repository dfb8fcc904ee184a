// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// Quiescence detection: finds that no scheduler has work and no message is in flight. Mattern's
/// four counters, collected by waves down a tree of schedulers. A busy scheduler answers when its
/// work is done, so waves cost nothing while there is work. Two waves with the same sums, in which
/// all sent messages are done, mean quiescence.
template <class Group>
class quiescence_detector {
 public:
  constexpr explicit quiescence_detector(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Revokes an earlier result, because there is work.
  constexpr void disturb() noexcept {
    m_is_found = false;
    m_idle_steps = 0;
  }
  /// Keeps cell `c`, whose message is sent at the next quiescence. Scheduler 0 only.
  constexpr void hold(cell* c) noexcept {
    m_core->cells.append(m_held, c);
    m_is_found = false;
  }

  /// Handles a message of a wave.
  constexpr void take(const message& m) noexcept {
    m.kind() == message_kind::wave ? begin() : add(m);
  }

  /// Called when the scheduler has no other work: answers a wave, or on scheduler 0 starts and
  /// evaluates waves.
  constexpr void idle() noexcept {
    if (m_is_asked && m_missing == 0) {
      m_is_asked = false;
      m_sums.sent += m_core->sent();
      m_sums.done += m_core->done();
      m_core->self() == 0 ? judge() : answer();
    } else if (m_core->self() == 0 && !m_is_asked && !m_is_found &&
               ++m_idle_steps > Group::patience) {
      begin();
    }
  }

 private:
  struct sums {
    std::uint64_t sent = 0;
    std::uint64_t done = 0;
  };

  constexpr void begin() noexcept {
    m_sums = {};
    m_missing = 0;
    m_is_asked = true;
    m_core->shared().for_each_child(m_core->self(), [this](std::uint32_t child) {
      ++m_missing;
      cell* const c = m_core->compose();
      message& m = c->m;
      m.set(message_kind::wave);
      m.bytes = 0;
      m_core->send(c, child);
    });
  }
  constexpr void add(const message& answer) noexcept {
    const auto below = read_at<sums>(answer, 0);
    m_sums.sent += below.sent;
    m_sums.done += below.done;
    --m_missing;
  }
  constexpr void answer() noexcept {
    cell* const c = m_core->compose();
    message& m = c->m;
    m.set(message_kind::wave_answer);
    m.bytes = sizeof(sums);
    write_at(m, 0, m_sums);
    m_core->send(c, parent_of(m_core->self()));
  }
  constexpr void judge() noexcept {
    const bool is_quiescent =
        m_sums.sent == m_before.sent && m_sums.done == m_before.done && m_sums.sent == m_sums.done;
    m_before = m_sums;
    // The next wave starts only after further idle steps.
    if (m_sums.sent != m_sums.done) m_idle_steps = 0;
    if (!is_quiescent) return;
    m_is_found = true;
    if (m_held.empty())
      Group::store_release(&m_core->shared().link->quiescent_at,
                           std::uint64_t(m_core->in.from_host()) + 1);
    while (!m_held.empty()) {
      cell* const c = m_core->cells.pop(m_held);
      c->m.set(message_kind::numbered);
      m_core->send(c, m_core->self());
    }
  }

  scheduler_core<Group>* m_core;
  sums m_sums;
  sums m_before{~std::uint64_t{0}, 0};
  cell_list m_held;
  std::uint32_t m_missing = 0;     // answers of child schedulers to come
  std::uint32_t m_idle_steps = 0;  // idle steps since the last work
  bool m_is_asked = false;         // a wave is to be answered
  bool m_is_found = false;         // quiescence was found, and scheduler 0 has had no work since
};

}  // namespace starling::resident::detail
