// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/mailbox.hpp>

#include <algorithm>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/future.hpp>

namespace starling::detail {

mailbox::~mailbox() {
  while (m_kept != nullptr) std::exchange(m_kept, m_kept->next())->discard();
}

bool mailbox::take(message_wait& w) noexcept { return w.all ? take_all(w) : take_first(w); }

bool mailbox::take_first(message_wait& w) noexcept {
  for (condition& c : w.conditions) {
    c.message = find(c, {});
    if (c.message == nullptr) continue;
    unlink(*c.message);
    return true;
  }
  return false;
}

/// Conditions for one reference number choose their messages before those for any.
bool mailbox::take_all(message_wait& w) noexcept {
  const auto let_go = [&w] {
    for (condition& c : w.conditions) c.message = nullptr;
  };
  let_go();
  for (const bool any : {false, true})
    for (condition& c : w.conditions) {
      if (c.any != any) continue;
      c.message = find(c, w.conditions);
      if (c.message != nullptr) continue;
      let_go();
      return false;
    }
  for (condition& c : w.conditions) unlink(*c.message);
  return true;
}

/// Returns the oldest fitting message that no other condition has chosen.
awaited_message* mailbox::find(const condition& c, std::span<const condition> all) const noexcept {
  for (awaited_message* m = m_kept; m != nullptr; m = m->next()) {
    const auto chose = [m](const condition& other) { return other.message == m; };
    if (c.fits(*m) && std::ranges::none_of(all, chose)) return m;
  }
  return nullptr;
}

void mailbox::keep(awaited_message& m) noexcept {
  m.set_next(nullptr);
  if (m_last == nullptr)
    m_kept = &m;
  else
    m_last->set_next(&m);
  m_last = &m;
}

void mailbox::unlink(awaited_message& m) noexcept {
  awaited_message* before = nullptr;
  for (awaited_message* at = m_kept; at != &m; at = at->next()) before = at;
  if (before == nullptr)
    m_kept = m.next();
  else
    before->set_next(m.next());
  if (m_last == &m) m_last = before;
}

message_wait* mailbox::end_one() noexcept {
  message_wait* w = m_waits;
  if (w != nullptr) {
    m_waits = w->next;
    w->is_ended = true;
  }
  return w;
}

void message_wait::check() const {
  const auto has_message = [](const condition& c) { return c.message != nullptr; };
  if (std::ranges::any_of(conditions, has_message)) return;
  if (is_ended) throw operation_cancelled();
  throw_interrupted();
}

std::string message_wait::text() const {
  std::string result = ": message";
  for (const condition& c : conditions) {
    if (&c != &conditions.front()) result += all ? " and" : " or";
    result += " " + std::string(c.entry->name);
    if (!c.any) result += "(" + std::to_string(c.reference) + ")";
  }
  return result;
}

void mailbox::enlist(message_wait& w) noexcept {
  w.owner = this;
  w.next = nullptr;
  message_wait** link = &m_waits;
  while (*link != nullptr) link = &(*link)->next;
  *link = &w;
}

bool mailbox::withdraw(message_wait& w) noexcept {
  for (message_wait** link = &m_waits; *link != nullptr; link = &(*link)->next)
    if (*link == &w) {
      *link = w.next;
      return true;
    }
  return false;
}

bool message_wait::withdraw() noexcept { return owner->withdraw(*this); }

promise_base* mailbox::deliver(awaited_message& m) noexcept {
  keep(m);
  for (message_wait* w = m_waits; w != nullptr; w = w->next) {
    const auto wants = [&m](const condition& c) { return c.fits(m); };
    if (!std::ranges::any_of(w->conditions, wants) || !take(*w)) continue;
    withdraw(*w);
    return w->waiting;
  }
  return nullptr;
}

}  // namespace starling::detail
