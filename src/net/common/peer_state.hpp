// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling::detail {

/// Phases of a peer. From `failed` on the peer has failed for good: no message is sent to it, and
/// none is accepted from it.
enum class peer_phase : std::uint8_t {
  connected,
  left,         // its goodbye has been handled; its failure is not reported
  failed,       // lost: its failure will be reported
  named,        // as `failed`, and does not change by its goodbye: a goodbye names it as the cause
  left_failed,  // as `failed`, and its goodbye has been handled
  // The connection and all transfers with the peer have ended; its failure is reported, if any:
  ended,
  named_ended,
  left_ended,
};

/// Events of a peer.
enum class peer_event : std::uint8_t {
  /// An error of a connection within this host, or the end of the peer's process. The peer is
  /// suspected: messages that it sent before may still arrive.
  error,
  /// No message of a suspected peer is on its way, and none that has arrived is a goodbye.
  pause,
  /// A failure that ends the peer at once, as no message of it is awaited any more: silence, an
  /// invalid
  /// message, an error of a connection to another host, no memory for a message.
  failure,
  goodbye,         ///< its goodbye, after its farewell or because of a third rank that it names
  abrupt_goodbye,  ///< its goodbye without a farewell, which names no third rank as lost
  named,           ///< the goodbye of another rank names it as lost
  end,             ///< `progress` ends the connections of failed peers
  close,           ///< this rank closes all connections
};

/// What the transport does after an event.
enum class peer_action : std::uint8_t {
  none,
  await_pause,  ///< apply `pause` when no message is on its way
  fail,         ///< drop the waiting messages and apply `end` at the next `progress`
  report,       ///< end the connection and the transfers with the peer; report its failure
  end,          ///< end the connection and the transfers with the peer, without a report
};

inline constexpr std::size_t peer_phases = 8;
inline constexpr std::size_t peer_events = 8;

/// A reaction of a peer in phase `from` to an event.
struct peer_transition {
  peer_phase from;
  peer_event event;
  peer_phase to;
  peer_action action;
};

/// All reactions, except that each phase reacts to `error` with `await_pause`. No other event
/// changes a phase or has an action.
inline constexpr peer_transition peer_transitions[] = {
    {peer_phase::connected, peer_event::pause, peer_phase::failed, peer_action::fail},
    {peer_phase::connected, peer_event::failure, peer_phase::failed, peer_action::fail},
    {peer_phase::connected, peer_event::goodbye, peer_phase::left, peer_action::none},
    {peer_phase::connected, peer_event::abrupt_goodbye, peer_phase::named, peer_action::fail},
    {peer_phase::connected, peer_event::named, peer_phase::named, peer_action::fail},
    {peer_phase::connected, peer_event::close, peer_phase::ended, peer_action::fail},

    // Two ranks that have lost each other name each other: the second goodbye has no effect on the
    // rank that has left.
    {peer_phase::left, peer_event::pause, peer_phase::left_failed, peer_action::fail},
    {peer_phase::left, peer_event::failure, peer_phase::left_failed, peer_action::fail},
    {peer_phase::left, peer_event::abrupt_goodbye, peer_phase::named, peer_action::fail},
    {peer_phase::left, peer_event::close, peer_phase::left_ended, peer_action::fail},

    // A failure that has not been reported before `close` is never reported.
    {peer_phase::failed, peer_event::goodbye, peer_phase::left_failed, peer_action::none},
    {peer_phase::failed, peer_event::abrupt_goodbye, peer_phase::named, peer_action::none},
    {peer_phase::failed, peer_event::named, peer_phase::named, peer_action::none},
    {peer_phase::failed, peer_event::end, peer_phase::ended, peer_action::report},
    {peer_phase::failed, peer_event::close, peer_phase::ended, peer_action::none},

    {peer_phase::named, peer_event::end, peer_phase::named_ended, peer_action::report},
    {peer_phase::named, peer_event::close, peer_phase::named_ended, peer_action::none},

    {peer_phase::left_failed, peer_event::abrupt_goodbye, peer_phase::named, peer_action::none},
    {peer_phase::left_failed, peer_event::end, peer_phase::left_ended, peer_action::end},
    {peer_phase::left_failed, peer_event::close, peer_phase::left_ended, peer_action::none},

    // A goodbye may arrive late, behind a large message that was being fetched.
    {peer_phase::ended, peer_event::goodbye, peer_phase::left_ended, peer_action::none},
    {peer_phase::ended, peer_event::abrupt_goodbye, peer_phase::named_ended, peer_action::none},
    {peer_phase::ended, peer_event::named, peer_phase::named_ended, peer_action::none},

    {peer_phase::left_ended, peer_event::abrupt_goodbye, peer_phase::named_ended,
     peer_action::none},
};

/// The reaction to an event in a phase.
struct peer_reaction {
  peer_phase next;
  peer_action action;
};

using peer_reactions = std::array<std::array<peer_reaction, peer_events>, peer_phases>;

/// Returns `peer_transitions` as a table, indexed by phase and event.
[[nodiscard]] consteval peer_reactions make_peer_reactions() {
  peer_reactions all{};
  for (std::size_t phase = 0; phase < peer_phases; ++phase) {
    all[phase].fill({static_cast<peer_phase>(phase), peer_action::none});
    all[phase][std::size_t(peer_event::error)].action = peer_action::await_pause;
  }
  for (const peer_transition& t : peer_transitions) {
    peer_reaction& cell = all[std::size_t(t.from)][std::size_t(t.event)];
    if (cell.next != t.from || cell.action != peer_action::none) throw "two reactions to an event";
    cell = {t.to, t.action};
  }
  return all;
}

inline constexpr peer_reactions peer_table = make_peer_reactions();

/// State of one peer of a transport. The transport applies events and carries out the actions; this
/// class does no input or output. Not thread-safe.
class peer_state {
 public:
  constexpr peer_action apply(peer_event e) noexcept {
    // Suspicion does not depend on the phase: the early messages of a failed peer are searched for
    // its goodbye, too.
    m_is_suspected = e == peer_event::error || (m_is_suspected && e != peer_event::pause);
    const peer_reaction& reaction = peer_table[std::size_t(m_phase)][std::size_t(e)];
    m_phase = reaction.next;
    return reaction.action;
  }

  [[nodiscard]] constexpr peer_phase phase() const noexcept { return m_phase; }
  [[nodiscard]] constexpr bool is_suspected() const noexcept { return m_is_suspected; }
  [[nodiscard]] constexpr bool has_failed() const noexcept { return m_phase >= peer_phase::failed; }
  /// Returns whether the connection and the transfers with the failed peer have ended.
  [[nodiscard]] constexpr bool has_ended() const noexcept { return m_phase >= peer_phase::ended; }
  /// Returns whether its goodbye has been handled, and no goodbye names it as lost.
  [[nodiscard]] constexpr bool has_left() const noexcept {
    return m_phase == peer_phase::left || m_phase == peer_phase::left_failed ||
           m_phase == peer_phase::left_ended;
  }
  /// Returns whether the peer is a lost rank: it has failed, and has not left.
  [[nodiscard]] constexpr bool is_lost() const noexcept { return has_failed() && !has_left(); }

 private:
  peer_phase m_phase = peer_phase::connected;
  bool m_is_suspected = false;  // an `error` that no `pause` has followed
};

}  // namespace starling::detail
