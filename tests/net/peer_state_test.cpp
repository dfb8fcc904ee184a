// SPDX-License-Identifier: Apache-2.0
// The states of a peer of a transport: each cell of the table, and properties of all sequences of
// events.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "net/common/peer_state.hpp"

namespace starling::detail {
namespace {

constexpr std::array<const char*, peer_phases> phase_names{
    "connected", "left", "failed", "named", "left_failed", "ended", "named_ended", "left_ended"};
constexpr std::array<const char*, peer_events> event_names{
    "error", "pause", "failure", "goodbye", "abrupt_goodbye", "named", "end", "close"};
constexpr std::array<const char*, 5> action_names{"none", "await_pause", "fail", "report", "end"};

std::string name_of(peer_phase p) { return phase_names.at(std::size_t(p)); }
std::string name_of(peer_event e) { return event_names.at(std::size_t(e)); }
std::string name_of(peer_action a) { return action_names.at(std::size_t(a)); }

constexpr peer_event event(std::size_t number) { return static_cast<peer_event>(number); }

/// Returns events that lead a new peer to a phase without suspicion.
std::vector<peer_event> way_to(peer_phase p) {
  using enum peer_event;
  switch (p) {
    case peer_phase::connected:
      return {};
    case peer_phase::left:
      return {goodbye};
    case peer_phase::failed:
      return {failure};
    case peer_phase::named:
      return {named};
    case peer_phase::left_failed:
      return {goodbye, failure};
    case peer_phase::ended:
      return {failure, end};
    case peer_phase::named_ended:
      return {named, end};
    case peer_phase::left_ended:
      return {goodbye, failure, end};
  }
  return {};
}

peer_state state_in(peer_phase p) {
  peer_state s;
  for (const peer_event e : way_to(p)) static_cast<void>(s.apply(e));
  EXPECT_EQ(name_of(s.phase()), name_of(p));
  EXPECT_FALSE(s.is_suspected());
  return s;
}

/// The reactions to `pause` and the following events, by phase: the next phase, and after a colon
/// the action. A dot: no reaction.
constexpr std::array<std::array<const char*, peer_events - 1>, peer_phases> expected{{
    {"failed:fail", "failed:fail", "left", "named:fail", "named:fail", ".", "ended:fail"},
    {"left_failed:fail", "left_failed:fail", ".", "named:fail", ".", ".", "left_ended:fail"},
    {".", ".", "left_failed", "named", "named", "ended:report", "ended"},
    {".", ".", ".", ".", ".", "named_ended:report", "named_ended"},
    {".", ".", ".", "named", ".", "left_ended:end", "left_ended"},
    {".", ".", "left_ended", "named_ended", "named_ended", ".", "."},
    {".", ".", ".", ".", ".", ".", "."},
    {".", ".", ".", "named_ended", ".", ".", "."},
}};

TEST(a_peer, reacts_to_each_event_in_each_phase_as_expected) {
  for (std::size_t phase = 0; phase < peer_phases; ++phase)
    for (std::size_t e = 1; e < peer_events; ++e) {
      const auto before = static_cast<peer_phase>(phase);
      peer_state s = state_in(before);
      const peer_action action = s.apply(event(e));
      std::string found = s.phase() == before ? "." : name_of(s.phase());
      if (action != peer_action::none) found += ":" + name_of(action);
      EXPECT_EQ(found, expected[phase][e - 1]) << name_of(before) << ", " << name_of(event(e));
      EXPECT_FALSE(s.is_suspected());
    }
}

TEST(a_peer, is_suspected_from_an_error_until_a_pause_in_each_phase) {
  for (std::size_t phase = 0; phase < peer_phases; ++phase)
    for (std::size_t e = 0; e < peer_events; ++e) {
      peer_state s = state_in(static_cast<peer_phase>(phase));
      peer_state unsuspected = s;
      EXPECT_EQ(s.apply(peer_event::error), peer_action::await_pause);
      EXPECT_EQ(s.phase(), unsuspected.phase());
      EXPECT_TRUE(s.is_suspected());
      // Any further event has the same effect as without suspicion.
      EXPECT_EQ(s.apply(event(e)), unsuspected.apply(event(e)));
      EXPECT_EQ(s.phase(), unsuspected.phase());
      EXPECT_EQ(s.is_suspected(), event(e) != peer_event::pause) << name_of(event(e));
    }
}

TEST(a_peer, counts_as_lost_unless_it_has_left) {
  const auto check = [](peer_phase p, bool has_failed, bool has_ended, bool has_left) {
    const peer_state s = state_in(p);
    EXPECT_EQ(s.has_failed(), has_failed) << name_of(p);
    EXPECT_EQ(s.has_ended(), has_ended) << name_of(p);
    EXPECT_EQ(s.has_left(), has_left) << name_of(p);
    EXPECT_EQ(s.is_lost(), has_failed && !has_left) << name_of(p);
  };
  check(peer_phase::connected, false, false, false);
  check(peer_phase::left, false, false, true);
  check(peer_phase::failed, true, false, false);
  check(peer_phase::named, true, false, false);
  check(peer_phase::left_failed, true, false, true);
  check(peer_phase::ended, true, true, false);
  check(peer_phase::named_ended, true, true, false);
  check(peer_phase::left_ended, true, true, true);
}

/// The effects of the events so far on a peer, from their definitions instead of phases.
struct history {
  bool has_failed = false, has_ended = false, has_left = false, is_suspected = false;
  bool is_named = false;  // by its own or another goodbye: it is lost although it has left
  int failures = 0, reports = 0, ends = 0;

  [[nodiscard]] bool is_lost() const { return has_failed && (!has_left || is_named); }

  void note(peer_event e) {
    const bool could_fail =
        e == peer_event::failure || e == peer_event::close || e == peer_event::abrupt_goodbye ||
        (e == peer_event::pause && is_suspected) || (e == peer_event::named && !has_left);
    if (e == peer_event::abrupt_goodbye || (e == peer_event::named && !has_left)) is_named = true;
    if (e == peer_event::goodbye || e == peer_event::abrupt_goodbye) has_left = true;
    if (e == peer_event::error) is_suspected = true;
    if (e == peer_event::pause) is_suspected = false;
    if (could_fail && !has_failed) {
      has_failed = true;
      ++failures;
    }
    if (e == peer_event::end && has_failed && !has_ended) ++(is_lost() ? reports : ends);
    if (e == peer_event::close || (e == peer_event::end && has_failed)) has_ended = true;
  }
};

/// One peer and the events that it has had.
struct observed_peer {
  peer_state state;
  history events;
  int failures = 0, reports = 0, ends = 0;

  void apply(peer_event e) {
    const peer_state before = state;
    const peer_action action = state.apply(e);
    events.note(e);
    failures += action == peer_action::fail;
    reports += action == peer_action::report;
    ends += action == peer_action::end;
    EXPECT_EQ(action == peer_action::await_pause, e == peer_event::error);
    EXPECT_TRUE(state.has_failed() || !before.has_failed()) << "a failed peer stays failed";
    EXPECT_TRUE(state.has_ended() || !before.has_ended()) << "an ended connection stays ended";
    EXPECT_TRUE(state.has_failed() || !state.has_ended());
    if (before.has_left() && e == peer_event::named) {
      EXPECT_EQ(state.phase(), before.phase());
      EXPECT_EQ(action, peer_action::none);
    }
  }
  void check() const {
    EXPECT_EQ(state.has_failed(), events.has_failed);
    EXPECT_EQ(state.has_ended(), events.has_ended);
    EXPECT_EQ(state.is_suspected(), events.is_suspected);
    EXPECT_EQ(state.is_lost(), events.is_lost());
    // The phases of lost peers do not say whether they have left as well.
    if (!state.is_lost()) {
      EXPECT_EQ(state.has_left(), events.has_left);
    }
    EXPECT_EQ(failures, events.failures);
    EXPECT_EQ(reports, events.reports);
    EXPECT_EQ(ends, events.ends);
    EXPECT_EQ(failures, int(state.has_failed())) << "a failure has one action";
    EXPECT_LE(reports + ends, failures);
  }
};

std::string text_of(const std::vector<peer_event>& events) {
  std::string all;
  for (const peer_event e : events) all += " " + name_of(e);
  return all;
}

TEST(any_sequence_of_events, has_the_effect_of_its_history) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000 && !testing::Test::HasFailure(); ++round) {
    observed_peer p;
    std::vector<peer_event> so_far;
    for (int i = 0; i < 12; ++i) {
      const peer_event e = event(random() % peer_events);
      // The transport applies `pause` to suspected peers only.
      if (e == peer_event::pause && !p.state.is_suspected()) continue;
      so_far.push_back(e);
      p.apply(e);
      p.check();
      ASSERT_FALSE(testing::Test::HasFailure()) << text_of(so_far);
    }
  }
}

TEST(any_sequence_of_events, ends_each_failed_peer_once) {
  std::mt19937 random(12);
  constexpr std::size_t events_of_peers = std::size_t(peer_event::close);  // without `close`
  for (int round = 0; round < 20'000 && !testing::Test::HasFailure(); ++round) {
    observed_peer p;
    std::vector<peer_event> so_far;
    for (int i = 0; i < 10; ++i) {
      so_far.push_back(event(random() % events_of_peers));
      p.apply(so_far.back());
    }
    const bool is_lost = p.state.is_lost(), had_ended = p.state.has_ended();
    for (int i = 0; i < 2; ++i) p.apply(peer_event::end);
    EXPECT_EQ(p.reports + p.ends, int(p.state.has_failed())) << text_of(so_far);
    if (!had_ended) {
      EXPECT_EQ(p.reports, int(is_lost)) << text_of(so_far);
    }
  }
}

TEST(a_peer_that_has_left, fails_without_a_report) {
  for (const peer_event e : {peer_event::failure, peer_event::pause}) {
    peer_state s = state_in(peer_phase::left);
    EXPECT_EQ(s.apply(e), peer_action::fail);
    EXPECT_EQ(s.apply(peer_event::named), peer_action::none);
    EXPECT_EQ(s.apply(peer_event::end), peer_action::end);
    EXPECT_FALSE(s.is_lost());
  }
}

TEST(a_closed_transport, reports_no_failure) {
  for (std::size_t phase = 0; phase < peer_phases; ++phase) {
    peer_state s = state_in(static_cast<peer_phase>(phase));
    static_cast<void>(s.apply(peer_event::close));
    EXPECT_TRUE(s.has_ended());
    for (std::size_t e = 1; e < peer_events; ++e)
      EXPECT_EQ(s.apply(event(e)), peer_action::none) << name_of(event(e));
  }
}

}  // namespace
}  // namespace starling::detail
