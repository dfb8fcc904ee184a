// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/migration.hpp>

/// Departures and arrivals of bound elements: docs/design/0048-bound-arrays.md.
namespace starling::detail {

/// An element that arrives.
template <class T>
struct bound_arrival {
  arriving<T> element;
  location now;
  bool resumes = false;  // its coroutine was left on another rank
};

/// Handler of two bound elements that arrive from another rank.
template <class Leader, class Follower>
struct remote_pair;

template <class Leader, class Follower>
class bond_of final : public bond {
 public:
  using key = typename array_of<Leader>::key;
  static_assert(std::is_same_v<key, typename array_of<Follower>::key>);

  /// The arrays have the same placement.
  bond_of(array_of<Leader>& leading, array_of<Follower>& following) noexcept
      : m_leading(leading), m_following(following) {}

  [[nodiscard]] const array_base& leading() const noexcept override { return m_leading; }
  [[nodiscard]] const array_base& following() const noexcept override { return m_following; }

  [[nodiscard]] chare_core* partner(chare_core& c) override {
    const std::uint32_t on = c.element_state().local->index;
    if (c.element_state().local->array == &m_leading)
      return find(m_following, on, m_leading.key_of(static_cast<Leader&>(c)));
    return find(m_leading, on, m_following.key_of(static_cast<Follower&>(c)));
  }

  void try_leader(chare_core& follower) override {
    auto& s = follower.element_state();
    if (partner(follower) != nullptr)
      return m_leading.try_departure(m_leading.local(s.local->index),
                                     m_following.key_of(static_cast<Follower&>(follower)));
    s.departs_to = s.stays;
    if (s.at_point != nullptr && s.at_point->is_released) follower.resume_at_point();
  }

  [[nodiscard]] bool depart_together(chare_core& of, std::uint32_t to) override {
    auto& leader = static_cast<Leader&>(of);
    const key k = m_leading.key_of(leader);
    auto* const follower = static_cast<Follower*>(partner(of));
    if (follower == nullptr) return false;
    auto& s = follower->element_state();
    s.departs_to = s.stays;
    s.cause = of.element_state().cause;
    s.reason = of.element_state().reason;
    if constexpr (requires { follower->before_migration(); }) {
      follower->before_migration();
      if (!of.can_depart_to(to)) throw_cannot_depart(m_following.name_of(k));
    }
    const location next = leave(m_leading, k, leader, to);
    const location follower_next = leave(m_following, k, *follower, to);
    const traced_departure traced(leader, next);
    const traced_departure traced_follower(*follower, follower_next);
    const std::uint32_t on = s.local->index;
    if (m_leading.locate_worker(to).local->home != nullptr)
      send_within_rank(on, k, {arriving<Leader>(&leader), next},
                       {arriving<Follower>(follower), follower_next});
    else if constexpr (migrates_between_ranks<Leader> && migrates_between_ranks<Follower>)
      send_to_rank(on, k, leader, next, *follower, follower_next);
    return true;
  }

  /// Takes two elements that arrive on worker `on` of this rank: none of them runs before both are
  /// there.
  void arrive(std::uint32_t on, const key& k, bound_arrival<Leader> l, bound_arrival<Follower> f) {
    Leader& leader = *l.element;
    Follower& follower = *f.element;
    m_leading.place(m_leading.local(on), k, std::move(l.element), l.now);
    m_following.place(m_following.local(on), k, std::move(f.element), f.now);
    m_leading.call_after_migration(leader);
    m_following.call_after_migration(follower);
    m_leading.settle(m_leading.local(on), k, leader, l.now, l.resumes);
    m_following.settle(m_following.local(on), k, follower, f.now, f.resumes);
  }

 private:
  template <class T>
  [[nodiscard]] static T* find(array_of<T>& in, std::uint32_t on, const key& k) {
    const auto* const e = in.tracked().find(on, k);
    if (e != nullptr && e->is_tracked()) return static_cast<T*>(e->element);
    const local_elements& local = in.local(on);
    return in.table().worker_of(k) == in.worker_number(*local.home) ? in.find(local, k) : nullptr;
  }
  /// Begins to track an element, and returns its next location.
  template <class T>
  [[nodiscard]] static location leave(array_of<T>& array, const key& k, T& element,
                                      std::uint32_t to) {
    local_elements& local = *element.element_state().local;
    if (element.element_state().tracked == nullptr) array.leave_home(local, k, element);
    return {to, array.entry(local.index, k).known.version + 1};
  }
  void left(std::uint32_t on, const key& k, const location& leader, const location& follower) {
    m_leading.leave_worker(m_leading.entry(on, k), leader);
    m_following.leave_worker(m_following.entry(on, k), follower);
  }

  void send_within_rank(std::uint32_t on, const key& k, bound_arrival<Leader> l,
                        bound_arrival<Follower> f) {
    const location next = l.now, follower_next = f.now;
    Leader& leader = *l.element;
    Follower& follower = *f.element;
    local_elements& target = *m_leading.locate_worker(next.worker).local;
    auto arrives = [this, to = target.index, k, l = std::move(l), f = std::move(f)]() mutable {
      arrive(to, k, std::move(l), std::move(f));
    };
    auto* const arrival = new call_message(std::move(arrives));
    left(on, k, next, follower_next);
    leader.rehome_coroutines(*target.home);
    follower.rehome_coroutines(*target.home);
    send(*target.home, *arrival, priority::high);
  }

  void send_to_rank(std::uint32_t on, const key& k, Leader& leader, const location& next,
                    Follower& follower, const location& follower_next) {
    job& j = *m_leading.space().current_job();
    const remote_way way{j.location_of(next.worker).worker, priority::high};
    shared_buffer<std::byte> state, follower_state;
    exported_memory exported(m_leading.space(), next.worker);
    if (!save_element(m_leading, k, leader, exported, state)) return;
    if (!save_element(m_following, k, follower, exported, follower_state)) return;
    const bool resumes = leader.element_state().at_point != nullptr;
    const bool follower_resumes = follower.element_state().at_point != nullptr;
    const auto make = [=, this, &j](const exported_memory& e) {
      return make_remote_for<remote_pair<Leader, Follower>>(
          j, way, m_leading.id(), k, next, resumes, state, m_following.id(), k, follower_next,
          follower_resumes, follower_state, e);
    };
    left(on, k, next, follower_next);
    leader.abandon_coroutine();
    follower.abandon_coroutine();
    exported_memory::send(
        std::move(exported), make,
        std::pair(std::unique_ptr<Leader>(&leader), std::unique_ptr<Follower>(&follower)));
  }

  array_of<Leader>& m_leading;
  array_of<Follower>& m_following;
};

template <class Leader, class Follower>
struct remote_pair {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto first = read<Leader>(a, ar);
    const auto second = read<Follower>(a, ar);
    imported_memory imported(a, ar);
    require_end(ar);
    auto& leading = first.at.array;
    auto* const b = dynamic_cast<bond_of<Leader, Follower>*>(leading.bound());
    a.require(b != nullptr && &b->following() == &second.at.array && first.at.k == second.at.k,
              "two elements that are not bound to each other");
    if (leading.is_closed() || !imported.read()) return;
    arriving<Leader> leader = load(first, imported);
    if (leader == nullptr) return;
    arriving<Follower> follower;
    try {
      follower = load(second, imported);
    } catch (const not_made_yet&) {  // both are read again later
      forget_messages<Leader>(leader->element_state().tracked->order);
      throw;
    }
    if (follower == nullptr) return;
    imported.give_back();
    require_absent(a, first.at);
    require_absent(a, second.at);
    b->arrive(first.at.here.index, first.at.k, {std::move(leader), first.at.now, first.resumes},
              {std::move(follower), second.at.now, second.resumes});
  }

 private:
  template <class T>
  struct received {
    arrival_place<T> at;
    bool resumes;
    shared_buffer<std::byte> state;
  };
  template <class T>
  static received<T> read(const received_call& a, input_archive& ar) {
    auto at = read_arrival_place<T>(a, ar);
    const auto resumes = ar.read<bool>();
    return {std::move(at), resumes, ar.read<shared_buffer<std::byte>>()};
  }
  template <class T>
  static arriving<T> load(const received<T>& r, imported_memory& imported) {
    input_archive from(r.state.elements());
    arriving<T> made = load_element(r.at.array, r.at.k, r.at.here, from, imported);
    if (made != nullptr) require_end(from);
    return made;
  }
  template <class T>
  static void require_absent(const received_call& a, const arrival_place<T>& at) {
    const auto& known = at.array.entry(at.here.index, at.k);
    a.require(known.element == nullptr && at.now.version > known.known.version,
              "an element that is here or has left again");
  }
};

}  // namespace starling::detail
