// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <starling/objects/detail/tracked_message.hpp>

/// Migration of elements between the workers of a rank, and the delivery of messages to them.
namespace starling::detail {

/// Passes the result of a reduction from the home of a tracked element to its coroutines.
template <class T>
class release_message final : public work_item, public pooled<block_kind::state> {
 public:
  release_message(const address<T>& to, const reduction_site& site, std::uint32_t sequence,
                  const reduction_result& result)
      : work_item(&run, &drop, &name), m_to(to), m_site(site), m_sequence(sequence),
        m_result(result) {}

  static void deliver_to(work_item& m, local_elements&, T& target) noexcept {
    auto& self = static_cast<release_message&>(m);
    target.element_state().waits.release(self.m_site, self.m_sequence, self.m_result);
    delete &self;
  }
  static void miss(work_item& m) noexcept { m.discard(); }

 private:
  static constexpr named_location name{"", "starling: result of a reduction"};
  static void run(void* item) noexcept {
    auto& self = *static_cast<release_message*>(static_cast<work_item*>(item));
    self.m_to.not_there(self);
  }
  static void drop(void* item) noexcept {
    delete static_cast<release_message*>(static_cast<work_item*>(item));
  }

  address<T> m_to;
  const reduction_site& m_site;
  std::uint32_t m_sequence;
  reduction_result m_result;
};

template <class T>
class tracked_waiter final : public remote_waiter {
 public:
  tracked_waiter(const address<T>& to, const reduction_site& site, std::uint32_t sequence)
      : m_to(to), m_site(site), m_sequence(sequence) {}
  void release(const reduction_result& result) override {
    pass_on_from_home(m_to, *new release_message<T>(m_to, m_site, m_sequence, result),
                      priority::high);
  }

 private:
  address<T> m_to;
  const reduction_site& m_site;
  std::uint32_t m_sequence;
};

template <class T>
std::unique_ptr<remote_waiter> array_of<T>::waiter_of(chare_core& c, reduction_site& site,
                                                      std::uint32_t sequence) {
  const address<T> to{c.element_state().tracked->home, key_of(static_cast<T&>(c))};
  return std::make_unique<tracked_waiter<T>>(to, site, sequence);
}

template <class T>
class destroy_message;

// --- messages

template <class T>
void array_of<T>::receive_tracked(tracked_message<T>& m) {
  local_elements& here = local(m.queued().home->index());
  const local_elements& home = *m.to().local;
  auto& e = m_tracked.at(here.index, m.to().to, home.index);
  if (is_closed()) return m.discard();
  std::unique_ptr<tracked_message<T>> kept(&m);  // until the message is passed on or added
  if (&here == &home && m.position.version == 0) {
    if (!e.is_tracked()) return kept.release()->run_untracked();
    number_at_home(e, m.position);
  }
  switch (decide(e, m.position)) {
    case arrival::hold:
      return e.early.push(*kept.release());
    case arrival::forward:
      return send(*space().workers()[e.known.worker], *kept.release(), m.position.priority);
    case arrival::accept:
      break;
  }
  if (m.position.is_forwarded && m.position.has_sender())
    tell_location(here, m.position.sender, home, m.to().to, &m.position);
  if (!e.here->add(m)) throw_numbered_twice(name_of(m.to().to));
  static_cast<void>(kept.release());
  deliver_ready(here, e);
}

template <class T>
void array_of<T>::deliver_ready(local_elements& local, typename directory::entry& e) {
  while (e.here != nullptr) {
    tracked_item* const m = e.here->next();
    if (m == nullptr) return;
    static_cast<tracked_message<T>*>(m)->deliver(local, e.element);
  }
}

/// Tells worker `to` where the element is. `opens`: position of the message that is answered.
template <class T>
void array_of<T>::tell_location(const local_elements& from, std::uint32_t to,
                                const local_elements& home, const key& k, const ticket* opens) {
  const location now = m_tracked.at(from.index, k, home.index).known;
  const int priority = opens == nullptr ? -1 : int(opens->priority);
  send_call(
      *space().workers()[to],
      [this, to, &home, k, now, priority] {
        auto& e = m_tracked.at(to, k, home.index);
        e.update(now);
        if (priority >= 0) e.is_open[std::size_t(priority)] = true;
      },
      priority::high);
}

// --- migration

template <class T>
void array_of<T>::request_departure(chare_core& c) {
  local_elements& at = *c.element_state().local;
  or_end_run(*at.home, [&] {
    send_call(
        *at.home, [this, &at, k = key_of(static_cast<T&>(c))] { try_departure(at, k); },
        priority::normal);
  });
}

template <class T>
void array_of<T>::try_departure(local_elements& local, const key& k) {
  const auto* e = m_tracked.find(local.index, k);
  T* const c = e != nullptr && e->is_tracked() ? e->element : find(local, k);
  if (c == nullptr || is_closed()) return;
  auto& s = c->element_state();
  if (s.departs_to == local.index) s.departs_to = s.stays;
  if (s.departs() && !s.is_doomed && c->can_depart()) depart(local, k, *c);
}

template <class T>
void array_of<T>::depart(local_elements& local, const key& k, T& element) {
  auto& s = element.element_state();
  const std::uint32_t to = std::exchange(s.departs_to, s.stays);
  if constexpr (requires { element.before_migration(); }) {
    element.before_migration();
    if (!element.can_depart()) throw_cannot_depart(name_of(k));
  }
  if (s.tracked == nullptr) {
    s.tracked = std::make_unique<tracked_state>(local);
    element.take_waits_from(*local.reductions);
    m_table.set(local, k, nullptr);
    local.remove(element);
    local.tracks.store(true, std::memory_order_relaxed);
  }
  const local_elements& home = *s.tracked->home;
  auto& e = m_tracked.at(local.index, k, home.index);
  e.element = nullptr;
  e.here = nullptr;
  e.known = {to, e.known.version + 1};
  worker& target = *space().workers()[to];
  element.rehome_coroutines(target);
  send_call(
      target,
      [this, to, &home, k, moved = std::unique_ptr<T>(&element), now = e.known]() mutable {
        arrive(this->local(to), home, k, *moved.release(), now);
      },
      priority::high);
}

template <class T>
void array_of<T>::arrive(local_elements& local, const local_elements& home, const key& k,
                         T& element, const location& now) {
  auto& s = element.element_state();
  auto& e = m_tracked.at(local.index, k, home.index);
  s.local = &local;
  e.known = now;
  e.element = &element;
  if (&local != &home) tell_location(local, home.index, home, k, nullptr);
  if constexpr (requires { element.after_migration(); }) element.after_migration();
  enter(local, e, now, s.tracked->order);
}

template <class T>
void array_of<T>::enter(local_elements& local, typename directory::entry& e, const location& now,
                        arrival_order& order) {
  e.known = now;
  e.here = &order;
  tracked_list early(std::move(e.early));
  while (tracked_item* m = early.pop()) receive_tracked(static_cast<tracked_message<T>&>(*m));
  deliver_ready(local, e);
}

// --- the end of an element

template <class T>
void array_of<T>::destroy_tracked(local_elements& local, const key& k) {
  auto& e = *m_tracked.find(local.index, k);
  T& gone = *e.element;
  auto& s = gone.element_state();
  if (const awaited_message* m = s.mail.kept()) fail(name_of(k), *m->entry, lost());
  local_elements& home = *s.tracked->home;
  e.element = nullptr;
  e.here = nullptr;
  e.known = {home.index, e.known.version + 1};
  auto return_state = [this, &home, k, now = e.known, state = std::move(s.tracked)]() mutable {
    auto& at_home = m_tracked.at(home.index, k, home.index);
    at_home.destroyed = std::move(state);
    enter(home, at_home, now, at_home.destroyed->order);
  };
  // Behind the contributions of the element, also those that it sent from other workers: an inbox
  // is first in, first out for all of its senders.
  send_call(
      *home.home, [&home, next = s.reductions] { home.reductions->leave(next); }, priority::normal);
  if (&home == &local)
    return_state();
  else
    send_call(*home.home, std::move(return_state), priority::high);
  end(gone);
}

template <class T>
void array_of<T>::destroy_away(local_elements& local, const key& k, starling::priority priority,
                               const sequence_numbers<key>* numbers) {
  auto* e = m_tracked.find(local.index, k);
  if (e == nullptr || !e->is_tracked() || std::exchange(e->is_ending, true)) return;
  const address<T> to{&local, k};
  pass_on_from_home<T>(to, *new destroy_message<T>(to), priority, numbers, true);
}

template <class T>
void array_of<T>::discard_tracked() noexcept {
  const auto discard = [](tracked_item* m) { static_cast<tracked_message<T>*>(m)->discard(); };
  const auto discard_all = [&](arrival_order& order) {
    while (tracked_item* m = order.next()) discard(m);
    while (tracked_item* m = order.drop_one()) discard(m);
  };
  for (const local_elements& local : locals())
    m_tracked.for_each(local.index, [&](const key&, typename directory::entry& e) {
      while (tracked_item* m = e.early.pop()) discard(m);
      if (e.here != nullptr) discard_all(*e.here);
      delete std::exchange(e.element, nullptr);
    });
}

}  // namespace starling::detail
