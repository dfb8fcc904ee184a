// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/location.hpp>

#include <algorithm>

namespace starling::detail {

/// Whether all messages before this one, in both of its sequences, have been taken. Only a message
/// of the home opens the sequence of a sender: the sender's first messages go by way of the home,
/// so that they keep their order behind those that it sent without a number.
bool arrival_order::is_next(const ticket& t) {
  if (t.is_last && !follows_urgent(t)) return false;
  const bool is_homed = t.home_number != 0;
  if (is_homed && of_home(t).expected != t.home_number) return false;
  if (!t.has_sender()) return is_homed;
  const std::uint64_t expected = of_sender(t).expected;
  return expected == t.number || (is_homed && expected == 0);
}

/// Whether the urgent messages before this one, which has the flag `is_last`, have been taken.
bool arrival_order::follows_urgent(const ticket& t) const {
  if (m_home[std::size_t(priority::high)].expected <= t.home_urgent) return false;
  if (t.urgent == 0) return true;
  const auto urgent = m_senders.find(key_of({.sender = t.sender, .priority = priority::high}));
  return urgent != m_senders.end() && urgent->second.expected > t.urgent;
}

bool arrival_order::was_used(const ticket& t) {
  if (t.home_number != 0 && t.home_number < of_home(t).expected) return true;
  if (!t.has_sender()) return t.home_number == 0;
  return t.number < of_sender(t).expected;
}

void arrival_order::advance(tracked_item& m) {
  const ticket& t = m.position;
  if (t.home_number != 0) of_home(t).expected = t.home_number + 1;
  if (t.has_sender()) of_sender(t).expected = t.number + 1;
  m_ready.push(m);
}

/// Makes the first held message of a sequence ready if it is the next one.
void arrival_order::take_held(sequence& s) {
  tracked_item* const m = s.held;
  if (m == nullptr || !is_next(m->position)) return;
  s.held = m->next;
  advance(*m);
}

bool arrival_order::add(tracked_item& m) {
  const ticket& t = m.position;
  if (t.has_sender()) m_senders.try_emplace(key_of(t));  // all that can throw
  if (was_used(t)) return false;
  if (!is_next(t)) return hold(m);
  advance(m);
  // Each ready message may be the one for which the next ones of its two sequences wait. Messages
  // that become ready are appended to the list and looked at in turn. A message with the flag
  // `is_last` waits for urgent ones, too.
  for (tracked_item* ready = &m; ready != nullptr; ready = ready->next) {
    for (sequence& of : m_home) take_held(of);
    if (ready->position.has_sender()) take_held(of_sender(ready->position));
  }
  return true;
}

/// Keeps a message that has arrived too early. Returns false if it is held already.
bool arrival_order::hold(tracked_item& m) {
  const bool is_homed = m.position.home_number != 0;
  const auto number = [is_homed](const tracked_item& of) {
    return is_homed ? of.position.home_number : of.position.number;
  };
  tracked_item** link = is_homed ? &of_home(m.position).held : &of_sender(m.position).held;
  while (*link != nullptr && number(**link) < number(m)) link = &(*link)->next;
  if (*link != nullptr && number(**link) == number(m)) return false;
  m.next = *link;
  *link = &m;
  return true;
}

tracked_item* arrival_order::drop_one() noexcept {
  const auto take = [](sequence& s) {
    tracked_item* const m = s.held;
    if (m != nullptr) s.held = m->next;
    return m;
  };
  for (sequence& s : m_home)
    if (tracked_item* m = take(s)) return m;
  for (auto& [sender, s] : m_senders)
    if (tracked_item* m = take(s)) return m;
  return nullptr;
}

std::size_t arrival_order::count_held() const noexcept {
  std::size_t n = 0;
  const auto count = [&n](const sequence& s) {
    for (const tracked_item* m = s.held; m != nullptr; m = m->next) ++n;
  };
  for (const sequence& s : m_home) count(s);
  for (const auto& [sender, s] : m_senders) count(s);
  return n;
}

bool arrival_order::holds_one_that_stays() const noexcept {
  const auto has_one = [](const sequence& s) {
    for (const tracked_item* m = s.held; m != nullptr; m = m->next)
      if (m->stays_on_rank) return true;
    return false;
  };
  return std::ranges::any_of(m_home, has_one) ||
         std::ranges::any_of(m_senders, [&](const auto& of) { return has_one(of.second); });
}

void number_at_sender(location_entry& e, std::uint32_t sender, starling::priority priority,
                      ticket& t) noexcept {
  t.number = ++e.sent[std::size_t(priority)];
  t.sender = sender;
  t.priority = priority;
}

std::uint32_t route(location_entry& e, std::uint32_t sender, std::uint32_t home,
                    starling::priority priority, ticket& t) noexcept {
  number_at_sender(e, sender, priority, t);
  if (!e.is_open[std::size_t(priority)]) return home;
  t.version = e.known.version;
  return e.known.worker;
}

void route_last(location_entry& e, std::uint32_t sender, ticket& t) noexcept {
  number_at_sender(e, sender, priority::normal, t);
  t.is_last = true;
  t.urgent = e.sent[std::size_t(priority::high)];
}

void number_at_home(location_entry& e, ticket& t) noexcept {
  t.home_number = ++e.homed[std::size_t(t.priority)];
  t.is_forwarded = true;
  if (t.is_last) t.home_urgent = e.homed[std::size_t(priority::high)];
}

arrival decide(const location_entry& e, ticket& t) noexcept {
  if (e.here != nullptr) {
    // A sender that assumed another location: messages to that one may be on their way back.
    if (t.is_loose && t.version != e.known.version) t.is_forwarded = true;
    return arrival::accept;
  }
  if (t.version > e.known.version) return arrival::hold;     // under way to this worker
  if (t.version == e.known.version) return arrival::refuse;  // it would go in a circle
  t.version = e.known.version;
  t.is_forwarded = true;
  return arrival::forward;
}

}  // namespace starling::detail
