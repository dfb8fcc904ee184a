// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/migration_trace.hpp>
#include <starling/objects/detail/stored_element.hpp>

/// Migration of elements, and the delivery of messages to them.
namespace starling::detail {

/// Passes the result of a reduction from the home of a tracked element to its coroutines.
template <class T>
class release_message final : public work_item, public pooled<block_kind::state> {
 public:
  /// `number`: of the element's contribution to the tree.
  release_message(const address<T>& to, object_id tree, std::uint32_t number,
                  const reduction_result& result)
      : work_item(&run, &drop, &name), m_to(to), m_tree(tree), m_number(number), m_result(result) {}

  static void deliver_to(work_item& m, local_elements&, T& target) noexcept {
    auto& self = static_cast<release_message&>(m);
    target.element_state().waits.release(self.m_tree, self.m_number, self.m_result);
    delete &self;
  }
  static void miss(work_item& m) noexcept { m.discard(); }

  static void write(work_item& m, job&, const value_user& use) {
    auto& self = static_cast<release_message&>(m);
    std::vector<std::byte> result;
    output_archive ar(result);
    save_result(ar, self.m_result);
    use_values(use, number_of_maker<message_maker<T, release_message>>, self.m_tree, self.m_number,
               result);
  }
  static release_message& make(const address<T>& to, input_archive& ar) {
    const auto tree = ar.read<object_id>();
    const auto number = ar.read<std::uint32_t>();
    const auto packed = ar.read<std::vector<std::byte>>();
    input_archive result(packed);
    return *new release_message(to, tree, number, read_result(result));
  }

 private:
  static constexpr named_location name{"", "starling: result of a reduction"};
  static void run(void* item) noexcept {
    auto& self = *static_cast<release_message*>(static_cast<work_item*>(item));
    self.m_to.not_there(self, functions_of<T, release_message>);
  }
  static void drop(void* item) noexcept {
    delete static_cast<release_message*>(static_cast<work_item*>(item));
  }

  address<T> m_to;
  object_id m_tree;
  std::uint32_t m_number;
  reduction_result m_result;
};

template <class T>
class tracked_waiter final : public remote_waiter {
 public:
  tracked_waiter(const address<T>& to, object_id tree, std::uint32_t number)
      : m_to(to), m_tree(tree), m_number(number) {}
  void release(const reduction_result& result) override {
    pass_on_from_home(m_to, *new release_message<T>(m_to, m_tree, m_number, result),
                      {.priority = priority::high});
  }

 private:
  address<T> m_to;
  object_id m_tree;
  std::uint32_t m_number;
};

template <class T>
std::unique_ptr<remote_waiter> array_of<T>::waiter_of(chare_core& c, const reduction_tree& tree,
                                                      std::uint32_t number) {
  local_elements& home = *locate_worker(c.element_state().tracked->home).local;
  return std::make_unique<tracked_waiter<T>>(address<T>{&home, key_of(static_cast<T&>(c))},
                                             tree.id(), number);
}

template <class T>
bool array_of<T>::can_leave_ranks() const noexcept {
  return migrates_between_ranks<T>;
}

template <class T>
bool array_of<T>::has_resumed() const noexcept {
  return requires(T & element) { element.resumed(); };
}

template <class T>
class destroy_message;
template <class T>
class skip_message;

// --- messages

template <class T>
void array_of<T>::receive_tracked(tracked_message<T>& m) {
  owned_tracked_message<T> kept(&m);  // until the message is passed on or added
  if (is_closed()) return;
  local_elements& here = local(m.queued().home->index());
  auto& e = entry(here.index, m.to().to);
  if (e.home == worker_number(*here.home) && m.position.version == 0) {
    if (!e.is_tracked()) return kept.release()->run_untracked();
    if (!m.position.is_loose) number_at_home(e, m.position);
  }
  switch (decide(e, m.position)) {
    case arrival::hold:
      return e.early.push(*kept.release());
    case arrival::forward:
      return send_to_worker(*this, e.known.worker, std::move(kept));
    case arrival::refuse:
      throw_two_locations(name_of(m.to().to));
    case arrival::accept:
      break;
  }
  if (m.position.is_loose) {
    if (m.position.is_forwarded && m.position.has_sender())
      tell_location(here, m.position.sender, m.to().to, nullptr);
    return kept.release()->deliver(here, static_cast<T*>(e.element));
  }
  if (m.position.is_forwarded && m.position.has_sender() &&
      e.here->tells(m.position, e.known.version))
    tell_location(here, m.position.sender, m.to().to, &m.position);
  if (!e.here->add(m)) throw_numbered_twice(name_of(m.to().to));
  static_cast<void>(kept.release());
  deliver_ready(here, e);
}

template <class T>
void array_of<T>::deliver_ready(local_elements& local, typename directory::entry& e) {
  while (e.here != nullptr) {
    auto* const m = static_cast<tracked_message<T>*>(e.here->next());
    if (m == nullptr) return;
    if (e.element == nullptr && keep_waiting(local, e, *m)) continue;
    m->deliver(local, static_cast<T*>(e.element));
    if (space().forces_migrations() && e.element != nullptr) [[unlikely]]
      offer_forced_migration(*e.element);
  }
}

template <class T>
void array_of<T>::learn_location(std::size_t on, const key& k, const location& now, int opened) {
  auto& e = entry(on, k);
  const bool is_here = now.worker == worker_number(*space().workers()[on]);
  if (!is_here) e.update(now);  // the worker itself knows when the element is here
  if (opened >= 0) e.is_open[std::size_t(opened)] = true;
}

/// Tells a worker of any rank where the element is. `opens`: position of the message that is
/// answered.
template <class T>
void array_of<T>::tell_location(const local_elements& from, std::uint32_t to, const key& k,
                                const ticket* opens) {
  const location now = entry(from.index, k).known;
  const int opened = opens == nullptr ? -1 : int(opens->priority);
  const auto [receiver, worker] = locate_worker(to);
  if (receiver->home != nullptr)
    send_call(
        *receiver->home,
        [this, on = receiver->index, k, now, opened] { learn_location(on, k, now, opened); },
        priority::high);
  else if constexpr (migrates_between_ranks<T>)
    space().current_job()->send(
        int(receiver->index),
        make_remote<remote_hint<T>>({worker, priority::high}, id(), k, now, opened));
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
  T* const c = e != nullptr && e->is_tracked() ? static_cast<T*>(e->element) : find(local, k);
  if (c == nullptr || is_closed()) return;
  if (follows(*this)) return bound()->try_leader(*c);
  auto& s = c->element_state();
  const bool has_destination = s.departs_to != s.anywhere || draw_destination(*c);
  if (s.departs_to == worker_number(*local.home)) s.departs_to = s.stays;
  if (s.departs() && has_destination && !s.is_doomed) {
    const confirmation partners = c->confirm_departure(s.departs_to);
    if (partners == confirmation::asked) return;
    if (partners == confirmation::given && c->can_depart_to(s.departs_to))
      return depart(local, k, *c);
  }
  if (s.at_point != nullptr && s.at_point->is_released) c->resume_at_point();
  if (bound() != nullptr) bound()->delay(*c);
}

template <class T>
void array_of<T>::leave_point(chare_core& c) {
  try_departure(*c.element_state().local, key_of(static_cast<T&>(c)));
}

/// Removes an element that leaves its home for the first time from the elements of its home.
template <class T>
void array_of<T>::leave_home(local_elements& home, const key& k, T& element) {
  element.element_state().tracked = std::make_unique<tracked_state>(worker_number(*home.home));
  element.take_waits_from(*home.reductions);
  auto& e = entry(home.index, k);
  m_table.set(home, k, nullptr);
  home.remove(element);
  e.element = &element;
  e.here = &element.element_state().tracked->order;
  if (home.has_tracked()) return;
  note_tracked(home);
  if constexpr (migrates_between_ranks<T>)
    if (job* j = space().current_job())
      j->send_to_other_ranks(make_remote<remote_tracks>({}, id()));
}

template <class T>
void array_of<T>::depart(local_elements& local, const key& k, T& element) {
  auto& s = element.element_state();
  std::uint32_t to = std::exchange(s.departs_to, s.stays);
  if constexpr (requires { element.before_migration(); }) {
    element.before_migration();
    if (s.departs()) to = std::exchange(s.departs_to, s.stays);  // it has called migrate_to
    if (to == worker_number(*local.home)) return element.resume_at_point();
    if (!element.can_depart_to(to)) throw_cannot_depart(name_of(k));
  }
  if (s.cause == departure_cause::chaos) [[unlikely]]
    space().forced().count(locate_worker(to).local->home == nullptr);
  if (bound() != nullptr && bound()->depart_together(element, to)) return;
  if (s.tracked == nullptr) leave_home(local, k, element);
  auto& e = entry(local.index, k);
  const location next{to, e.known.version + 1};
  const traced_departure traced(element, next);
  local_elements& target = *locate_worker(to).local;
  if (target.home != nullptr) return send_within_rank(e, k, element, target, next);
  if constexpr (migrates_between_ranks<T>) send_element(*this, k, element, next);
}

template <class T>
void array_of<T>::leave_worker(typename directory::entry& e, const location& next) noexcept {
  e.element = nullptr;
  e.here = nullptr;
  e.known = next;
}

template <class T>
void array_of<T>::send_within_rank(typename directory::entry& e, const key& k, T& element,
                                   local_elements& target, const location& next) {
  auto* const arrival = new call_message(
      [this, &target, k, &element, next] { arrive(target, k, arriving<T>(&element), next); });
  leave_worker(e, next);
  element.rehome_coroutines(*target.home);
  send(*target.home, *arrival, priority::high);
}

template <class T>
void array_of<T>::arrive(local_elements& local, const key& k, arriving<T> arrived,
                         const location& now, bool resumes) {
  T& element = *arrived;
  place(local, k, std::move(arrived), now);
  call_after_migration(element);
  settle(local, k, element, now, resumes);
}

template <class T>
void array_of<T>::place(local_elements& local, const key& k, arriving<T> arrived,
                        const location& now) {
  T& element = *arrived;
  auto& s = element.element_state();
  s.local = &local;
  auto& e = entry(local.index, k);
  if (!local.is_measured) s.load.reset();  // ended while the element was under way
  e.known = now;
  e.element = arrived.release();
  if (space().trace().is_on()) [[unlikely]]
    trace_arrival(element, now);
  if (e.home != worker_number(*local.home)) tell_location(local, e.home, k, nullptr);
}

template <class T>
void array_of<T>::settle(local_elements& local, const key& k, T& element, const location& now,
                         bool resumes) {
  element.resume_at_point();
  if (resumes) start_resumed(local, k, element);  // before messages, which may destroy it
  if (space().forces_migrations()) [[unlikely]]
    offer_forced_migration(element);
  enter(local, entry(local.index, k), now, element.element_state().tracked->order);
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
  auto& e = entry(local.index, k);
  T& gone = static_cast<T&>(*e.element);
  auto& s = gone.element_state();
  report_left_over(gone);
  local_elements& home = *locate_worker(e.home).local;
  leave_worker(e, {e.home, e.known.version + 1});
  arriving<T> ends(&gone);  // also if its state cannot be sent
  std::unique_ptr<tracked_state> state = std::move(s.tracked);
  const std::uint32_t next = s.reductions;
  if (&home == &local) {
    ends.reset();  // before the next element with this index begins
    return return_state(home, k, e.known, std::move(state), next);
  }
  if (home.home != nullptr)
    send_call(
        *home.home,
        [this, &home, k, now = e.known, state = std::move(state), next]() mutable {
          return_state(home, k, now, std::move(state), next);
        },
        priority::high);
  else if constexpr (migrates_between_ranks<T>)
    send_state(*this, k, *state, e.known, next);
}

template <class T>
void array_of<T>::return_state(local_elements& home, const key& k, const location& now,
                               std::unique_ptr<tracked_state> state, std::uint32_t next_reduction) {
  home.reductions->leave_tracked(next_reduction);
  auto& e = entry(home.index, k);
  e.destroyed = std::move(state);
  e.next_reduction = next_reduction;
  enter(home, e, now, e.destroyed->order);
}

template <class T>
void array_of<T>::destroy_away(local_elements& local, const key& k, ticket position) {
  auto* e = m_tracked.find(local.index, k);
  if (e == nullptr || !e->is_tracked()) return;
  const address<T> to{&local, k};
  if (std::exchange(e->is_ending, true)) {
    if (position.has_sender()) pass_on_from_home<T>(to, *new skip_message<T>(), position);
    return;
  }
  position.drops_if_missing = true;
  pass_on_from_home<T>(to, *new destroy_message<T>(to), position);
}

template <class T>
void array_of<T>::discard_tracked() noexcept {
  for (const local_elements& local : locals())
    m_tracked.for_each(local.index, [&](const key&, typename directory::entry& e) {
      const tracked_list early(std::move(e.early));
      const tracked_list waiting(std::move(e.waiting));
      e.destroyed.reset();
      delete static_cast<T*>(std::exchange(e.element, nullptr));
    });
}

}  // namespace starling::detail
