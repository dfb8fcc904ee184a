// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/dense_table.hpp>
#include <starling/objects/detail/early_messages.hpp>
#include <starling/objects/detail/tracked_elements.hpp>
#include <starling/objects/index.hpp>

namespace starling::detail {

/// Maps the indices of a sparse array to its elements, with one hash table for each worker.
template <class T>
class sparse_table {
 public:
  using index_type = typename T::index_type;
  using key = index_type;

  /// `total`: workers of all ranks; `here`: workers of this rank.
  template <class Map>
  sparse_table(std::size_t total, std::size_t here, Map worker_of)
      : m_worker_of(worker_of), m_total(total), m_maps(here) {}

  [[nodiscard]] const key& key_of(const index_type& i) const noexcept { return i; }
  [[nodiscard]] const index_type& index_of(const key& k) const noexcept { return k; }
  [[nodiscard]] std::size_t worker_of(const key& k) const {
    const std::size_t worker = m_worker_of(k);
    require_worker_number(worker, m_total);
    return worker;
  }

  [[nodiscard]] T* find(const local_elements& local, const key& k) const {
    const auto at = m_maps[local.index].elements.find(k);
    return at == m_maps[local.index].elements.end() ? nullptr : at->second;
  }
  void set(const local_elements& local, const key& k, T* made) {
    if (made != nullptr)
      m_maps[local.index].elements[k] = made;
    else
      m_maps[local.index].elements.erase(k);
  }
  /// Removes all elements. No element is added afterwards.
  void clear(const local_elements& local) { m_maps[local.index] = map(); }

 private:
  struct alignas(64) map {
    std::unordered_map<key, T*> elements;  // accessed by its worker only
  };
  std::function<std::size_t(const index_type&)> m_worker_of;
  std::size_t m_total;
  std::vector<map> m_maps;
};

template <class T>
using table_of =
    std::conditional_t<dense_index<typename T::index_type>, dense_table<T>, sparse_table<T>>;

inline constexpr entry_info constructor_info{"constructor"};

template <class T>
class tracked_message;
template <class T>
class array_of;
template <class Leader, class Follower>
class bond_of;

/// Ends an element that arrives on a worker but cannot be kept there.
template <class T>
struct end_element {
  void operator()(T* element) const noexcept { array_of<T>::end(*element); }
};
/// An element that has left its worker and is on none yet.
template <class T>
using arriving = std::unique_ptr<T, end_element<T>>;

/// The elements of an array on this rank.
template <class T>
class array_of final : public array_base {
 public:
  using index_type = typename T::index_type;
  using key = typename table_of<T>::key;

  array_of(object_space& space, object_id id, table_of<T> table)
      : array_base(space, id, type_name<T>(), typeid(T)), m_table(std::move(table)),
        m_early(worker_count()), m_tracked(worker_count()) {}
  ~array_of() override {
    discard_tracked();
    m_early.discard();
    for (const local_elements& local : locals())
      for (chare_core* element : local.elements) delete static_cast<T*>(element);
  }

  [[nodiscard]] const table_of<T>& table() const noexcept { return m_table; }
  [[nodiscard]] located locate(const key& k) { return locate_worker(m_table.worker_of(k)); }
  [[nodiscard]] key key_of(const T& element) const
      noexcept(std::is_nothrow_copy_constructible_v<key>) {
    return m_table.key_of(static_cast<const typename T::chare_type&>(element).m_index);
  }
  [[nodiscard]] static array_of& of(const local_elements& local) noexcept {
    return static_cast<array_of&>(*local.array);
  }

  // --- on the worker of `local`
  /// Returns null when the element does not exist or is not yet inserted.
  [[nodiscard]] T* find(const local_elements& local, const key& k) const {
    return m_table.find(local, k);
  }
  /// Makes element `k`, which has been counted as a contributor to reductions from number `first`
  /// on, because its constructor may contribute.
  template <class... Args>
  void make(local_elements& local, const key& k, std::uint32_t first, Args&&... args) {
    const index_type index = m_table.index_of(k);
    T* made = nullptr;
    if (local.has_tracked() && is_tracked(local, k)) [[unlikely]] {
      made = make_again(local, k, [&](std::unique_ptr<tracked_state>& earlier) {
        chare_core::announce({&local, &index, first, &earlier});
        return new T(std::forward<Args>(args)...);
      });
    } else {
      chare_core::announce({&local, &index, first});
      made = new T(std::forward<Args>(args)...);
      local.add(*made);
      m_table.set(local, k, made);
    }
    if (space().forces_migrations()) [[unlikely]]
      begin_forced_migrations(*made);
  }
  /// Makes element `k` of a home, which contributes to the reductions from number `first` on.
  using maker = std::function<void(local_elements& local, const key& k, std::uint32_t first)>;
  /// Lets messages to missing elements make them by `make`. Called before any message is sent to
  /// the array, which expects insertions.
  void make_on_demand_by(maker make) { m_maker = std::move(make); }
  [[nodiscard]] bool makes_on_demand() const noexcept { return m_maker != nullptr; }
  /// Makes a missing element that has this home. @throws the exceptions of its constructor
  void make_on_demand(local_elements& local, const key& k) {
    m_maker(local, k, local.reductions->join());
  }
  /// Keeps a message whose element may still be inserted. @throws std::bad_alloc
  void keep_early(const local_elements& local, const key& k, work_item& m) {
    m_early.keep(local.index, k, m);
  }
  /// Processes the messages kept for element `k`, in order of arrival.
  void replay_early(const local_elements& local, const key& k) noexcept {
    m_early.replay(local.index, k);
  }
  void replay_all_early(const local_elements& local) noexcept override {
    m_early.replay_all(local.index);
    replay_waiting(local);
  }
  [[nodiscard]] std::size_t count_early(const local_elements& local) const noexcept override {
    std::size_t n = m_early.count(local.index);
    m_tracked.for_each(local.index, [&n](const key&, const typename directory::entry& e) {
      n += e.waiting.size();
    });
    return n;
  }
  /// Removes element `k` and deletes it when its last coroutine has ended. Returns false when the
  /// element does not exist.
  bool destroy(local_elements& local, const key& k) {
    T* gone = find(local, k);
    if (gone == nullptr) return false;
    if (is_closed()) return true;
    report_left_over(*gone);
    m_table.set(local, k, nullptr);
    local.remove(*gone);
    local.reductions->leave(gone->element_state().reductions);
    end(*gone);
    return true;
  }
  void destroy_all(local_elements& local) override {
    while (!local.elements.empty() && !is_closed())
      destroy(local, key_of(static_cast<T&>(*local.elements.back())));
    if (is_closed()) return;
    for (const key& k : tracked_with_home(local)) destroy_away(local, k, ticket());
    m_table.clear(local);
    end_insertions(local);
  }

  // --- tracked elements, on the worker of `local`: migration.hpp
  using directory = tracked_elements<key>;
  [[nodiscard]] directory& tracked() noexcept { return m_tracked; }
  /// Returns what worker `on` of this rank knows about element `k`.
  [[nodiscard]] typename directory::entry& entry(std::size_t on, const key& k) {
    return m_tracked.at(on, k, [&] { return m_table.worker_of(k); });
  }
  /// Returns whether element `k`, whose home is the worker, has migrated.
  [[nodiscard]] bool is_tracked(const local_elements& local, const key& k) noexcept {
    const auto* e = m_tracked.find(local.index, k);
    return e != nullptr && e->is_tracked();
  }
  /// Returns the elements whose home is the worker and that have migrated, destroyed ones included:
  /// senders may have numbered a broadcast for them.
  [[nodiscard]] std::vector<key> tracked_with_home(const local_elements& local) {
    std::vector<key> found;
    const std::uint32_t home = worker_number(*local.home);
    m_tracked.for_each(local.index, [&](const key& k, const typename directory::entry& e) {
      if (e.home == home && e.is_tracked()) found.push_back(k);
    });
    return found;
  }
  /// Sends a destruction to a tracked element whose home is the worker.
  void destroy_away(local_elements& local, const key& k, ticket position);
  /// Processes a message to a tracked element that has arrived at worker `m.queued().home`.
  void receive_tracked(tracked_message<T>& m);
  /// Notes that the element, or the state of a destroyed one, leaves the worker.
  static void leave_worker(typename directory::entry& e, const location& next) noexcept;
  /// Takes an element that arrives on the worker. `resumes`: its coroutine was left on another
  /// rank.
  void arrive(local_elements& local, const key& k, arriving<T> element, const location& now,
              bool resumes = false);
  /// Takes the state of a destroyed element that arrives on its home. `next_reduction`: the one to
  /// which the element would have contributed next.
  void return_state(local_elements& home, const key& k, const location& now,
                    std::unique_ptr<tracked_state> state, std::uint32_t next_reduction);
  /// Processes a hint. `opened`: priority of the sequence that may leave out the home; -1: none.
  void learn_location(std::size_t on, const key& k, const location& now, int opened);
  // --- indices that are used again, on the home
  /// Notes that the insertion of an element has arrived which follows the messages to an earlier
  /// one that has migrated. Until then the new element counts as a contributor to reductions from
  /// `first` on.
  void expect_again(const local_elements& home, const key& k, std::uint32_t first) {
    entry(home.index, k).insertions.push_back(first);
  }
  /// Ends that, when the earlier element has been destroyed, and returns the first reduction to
  /// which the new one contributes. @throws archive_error when no insertion is expected
  [[nodiscard]] std::uint32_t begin_again(local_elements& home, const key& k);

  /// Destroys a tracked element that is on the worker.
  void destroy_tracked(local_elements& local, const key& k);
  /// Moves an element that is to migrate to `departs_to`, if it is on the worker and its coroutines
  /// can migrate; otherwise the next wait of one of its coroutines repeats the request.
  void try_departure(local_elements& local, const key& k);
  void request_departure(chare_core& c) override;
  [[nodiscard]] std::vector<chare_core*> tracked_on(const local_elements& local) override {
    std::vector<chare_core*> found;
    m_tracked.for_each(local.index, [&](const key&, typename directory::entry& e) {
      if (e.element != nullptr) found.push_back(e.element);
    });
    return found;
  }
  [[nodiscard]] std::unique_ptr<remote_waiter> waiter_of(chare_core& c, const reduction_tree& tree,
                                                         std::uint32_t number) override;
  [[nodiscard]] bool can_leave_ranks() const noexcept override;
  [[nodiscard]] bool has_resumed() const noexcept override;
  void leave_point(chare_core& c) override;

  // --- checkpoints: stored_element.hpp
  void save_index(chare_core& c, output_archive& ar) const override;
  void save_state(chare_core& c, output_archive& ar) override;
  [[nodiscard]] std::size_t home_of_stored(std::span<const std::byte> index) const override;
  bool load_element(local_elements& home, std::span<const std::byte> index,
                    std::span<const std::byte> state) override;
  void resume_stored(local_elements& home, std::span<const std::byte> index) override;

  /// Destroys an element that is in no list: ends the waits of its coroutines, and deletes it when
  /// they have ended. On its worker.
  static void end(T& element) noexcept {
    auto& s = element.element_state();
    s.is_doomed = true;
    ++s.coroutines;  // keeps the element while its waits are ended one by one
    while (message_wait* w = s.mail.end_one()) resume_here(*w->waiting);
    element.cancel_waits();
    cancel_channels(element);
    let_go(element);
  }
  /// Ends one coroutine of the element, or its destruction. Deletes an element that is being
  /// destroyed after the last of them.
  static void let_go(T& element) noexcept {
    auto& s = element.element_state();
    if (--s.coroutines == 0 && s.is_doomed) return delete &element;
    if (s.departs()) [[unlikely]]
      s.local->array->request_departure(element);
  }

  /// Returns a name such as `block[(1, 2, 3)]`.
  [[nodiscard]] std::string name_of(const key& k) const {
    return type() + "[" + text_of(m_table.index_of(k)) + "]";
  }
  [[nodiscard]] std::string name_of(chare_core& c) const override {
    return name_of(key_of(static_cast<T&>(c)));
  }
  [[nodiscard]] element_number number_of(const key& k) const {
    if constexpr (dense_index<index_type>)
      return {id(), k};
    else
      return {id(), std::hash<key>()(k)};
  }
  [[nodiscard]] element_number number_of(chare_core& c) const override {
    return number_of(key_of(static_cast<T&>(c)));
  }

 private:
  void list_held(const local_elements& local, const held_visitor& visit) override {
    m_tracked.for_each(local.index, [&](const key& k, const typename directory::entry& e) {
      const std::size_t held = e.here == nullptr ? 0 : e.here->count_held();
      if (const std::size_t n = held + e.early.size(); n != 0) visit(name_of(k), n);
    });
  }
  [[nodiscard]] bool models_device_load() const noexcept override {
    return requires(const T& described, double& x) { x = described.device_load(); };
  }
  void describe_load(chare_core& c, load_measurement& load) const override {
    const T& described = static_cast<T&>(c);
    using position = std::array<double, 3>;
    if constexpr (requires(double& x) { x = described.load(); }) {
      load.host_seconds = described.load();
      load.is_modelled = true;
    }
    if constexpr (requires(double& x) { x = described.device_load(); }) {
      load.device_seconds = described.device_load();
      load.is_device_modelled = true;
    }
    if constexpr (requires(position & x) { x = described.coordinates(); }) {
      load.position = described.coordinates();
      load.has_position = true;
    }
    if constexpr (requires(std::uint64_t & x) { x = described.state_bytes(); })
      load.state_bytes = described.state_bytes();
    if constexpr (requires(std::uint64_t & x) { x = described.device_bytes(); })
      load.device_bytes = described.device_bytes();
  }

  template <class Leader, class Follower>
  friend class bond_of;
  void depart(local_elements& local, const key& k, T& element);
  void leave_home(local_elements& home, const key& k, T& element);
  void send_within_rank(typename directory::entry& e, const key& k, T& element,
                        local_elements& target, const location& next);
  /// The first and the last part of `arrive`: puts the element on the worker; lets it continue.
  void place(local_elements& local, const key& k, arriving<T> element, const location& now);
  void settle(local_elements& local, const key& k, T& element, const location& now, bool resumes);
  /// Calls the user's `after_migration`.
  static void call_after_migration(T& element) {
    if constexpr (requires { element.after_migration(); }) element.after_migration();
  }
  /// Stores that the element, or the state of a destroyed one, is on the worker, and processes the
  /// messages that arrived before it.
  void enter(local_elements& local, typename directory::entry& e, const location& now,
             arrival_order& order);
  void deliver_ready(local_elements& local, typename directory::entry& e);
  /// Makes an element whose earlier one had migrated, by `construct(state)`.
  template <class Construct>
  [[nodiscard]] T* make_again(local_elements& home, const key& k, Construct construct);
  /// Keeps a message that has come to the home of a destroyed element if it is for the next one.
  /// Returns false if it is to be delivered, perhaps to an element that has been made for it.
  bool keep_waiting(local_elements& home, typename directory::entry& e, tracked_message<T>& m);
  [[nodiscard]] bool make_for(const tracked_message<T>& m);  // insertion.hpp
  /// Delivers the messages that wait for elements which will not be inserted.
  void replay_waiting(const local_elements& home) noexcept;
  void tell_location(const local_elements& from, std::uint32_t to, const key& k,
                     const ticket* opens);
  void discard_tracked() noexcept;

  table_of<T> m_table;
  maker m_maker;  // null: elements are not made on demand
  early_messages<key> m_early;
  directory m_tracked;
};

/// Returns the array of T with this id. @throws not_made_yet, archive_error
template <class T>
[[nodiscard]] array_of<T>& array_named(object_space& space, object_id id) {
  array_base& array = space.array(id);
  if (array.element_type() != typeid(T)) throw_other_elements(array, type_name<T>());
  return static_cast<array_of<T>&>(array);
}
/// Reads the id of an array of T and returns the array. @throws not_made_yet, archive_error
template <class T>
[[nodiscard]] array_of<T>& read_array(object_space& space, input_archive& ar) {
  return array_named<T>(space, ar.read<object_id>());
}

}  // namespace starling::detail
