// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/objects/create.hpp>
#include <starling/objects/detail/bond_of.hpp>

/// Arrays whose elements migrate together.
namespace starling {

/// Two arrays of one shape and placement that were created together.
template <class Leader, class Follower>
struct bound_arrays {
  chare_array<Leader> leaders;
  chare_array<Follower> followers;
};

namespace detail {

/// The parts of two bound arrays on this rank, before their elements exist.
template <class Leader, class Follower>
struct bound_parts {
  object_id id, follower_id;
  dense_table<Leader> table;
  dense_table<Follower> follower_table;
};

/// Makes this rank's part of an array, without its elements.
template <class T>
[[nodiscard]] std::unique_ptr<array_of<T>> make_part(object_space& space, object_id id,
                                                     dense_table<T> table) {
  auto made = std::make_unique<array_of<T>>(space, id, std::move(table));
  for (const local_elements& local : made->locals())
    local.reductions->join(made->table().count(local.index));
  return made;
}

/// Makes this rank's parts of two bound arrays. One message to each worker makes the elements of
/// both, so that none of them runs, or departs, without its partner.
template <class Leader, class Follower, class A, class B>
bound_arrays<Leader, Follower> make_bound_arrays(object_space& space,
                                                 bound_parts<Leader, Follower> parts,
                                                 const shared_value<A>& leader_args,
                                                 const shared_value<B>& follower_args) {
  auto leading = make_part(space, parts.id, std::move(parts.table));
  auto following = make_part(space, parts.follower_id, std::move(parts.follower_table));
  array_of<Leader>& leaders = *leading;
  array_of<Follower>& followers = *following;
  const auto bond = std::make_shared<bond_of<Leader, Follower>>(leaders, followers);
  leaders.bind(bond);
  followers.bind(bond);
  space.add_array(std::move(leading));
  space.add_array(std::move(following));
  for (local_elements& local : leaders.locals()) {
    const auto make = [&local, &other = followers.local(local.index), leader_args, follower_args] {
      if (!construct_elements<Leader>(local, leader_args->value) ||
          !construct_elements<Follower>(other, follower_args->value))
        return;
      local.replay_early();
      other.replay_early();
    };
    send_call(*local.home, make, priority::high);
  }
  return {chare_array<Leader>(leaders), chare_array<Follower>(followers)};
}

/// Handler that makes this rank's parts of two bound arrays created on another rank.
template <class Leader, class Follower, class Map, class A, class B>
struct remote_bound_arrays {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    const auto follower_id = a.space().read_new_id(a.from(), ar);
    const shared_value<A> args(new counted_value<A>(ar.read<A>()));
    const shared_value<B> follower_args(new counted_value<B>(ar.read<B>()));
    auto table = read_table<Leader, Map>(a.space(), ar);
    auto follower_table = read_table<Follower, Map>(a.space(), ar);
    require_end(ar);
    a.require(id != follower_id && table.extent().extent() == follower_table.extent().extent(),
              "two bound arrays that are one, or of different shapes");
    make_bound_arrays<Leader, Follower>(
        a.space(), {id, follower_id, std::move(table), std::move(follower_table)}, args,
        follower_args);
  }
};

}  // namespace detail

/// Creates an array of Leader and one of Follower, as two calls of create_array with the same shape
/// and placement, whose elements with the same index are always on the same worker: when a leader
/// migrates, because it calls `migrate_to`, because a balancer decides so, or because chaos mode
/// forces it, its follower migrates with it. On that worker `element::local` yields the partner,
/// also in `before_migration` and `after_migration`; not in constructors. If a leader or follower
/// is destroyed, its partner remains; a follower without leader stays on its worker.
///
/// A leader departs when both can: a follower with a coroutine or with channels that anchor it
/// anchors its leader, too. Followers must not call `migrate_to` and `load_balance` (usage_error).
/// A balancer gets the sum of both times, state sizes and device memories; the follower's time is
/// left out if one of the classes has `load()` and the other one has not. Both elements keep their
/// own messages, reductions, mailboxes and coroutines, and the guarantees of migration.
/// `leader_args`, `follower_args`: arguments of the constructors. Any thread; on one rank only.
/// @throws usage_error as create_array
template <class Leader, class Follower, class Map, class... A, class... B>
requires dense_index<typename Leader::index_type> && detail::placement_for<Leader, Map>
[[nodiscard]] bound_arrays<Leader, Follower> create_bound_arrays(
    runtime& rt, const shape<typename Leader::index_type>& extent, const Map& map,
    const std::tuple<A...>& leader_args = {}, const std::tuple<B...>& follower_args = {}) {
  using index = typename Leader::index_type;
  static_assert(std::is_same_v<index, typename Follower::index_type>,
                "bound arrays have indices of the same type");
  detail::check_travel<Leader, A...>();
  detail::check_travel<Follower, B...>();
  detail::require_elements(extent.size());
  auto& space = rt.service<detail::object_space>();
  detail::bound_parts<Leader, Follower> parts{space.next_id(), space.next_id(),
                                              detail::dense_table<Leader>(space, extent, map),
                                              detail::dense_table<Follower>(space, extent, map)};
  const detail::shared_value<std::tuple<A...>> args(
      new detail::counted_value<std::tuple<A...>>(leader_args));
  const detail::shared_value<std::tuple<B...>> other_args(
      new detail::counted_value<std::tuple<B...>>(follower_args));
  if (detail::job* j = space.current_job()) {
    const detail::sent_shape<index> sent{extent.extent()};
    if constexpr (detail::function_travels<Map> && travels<std::tuple<A...>> &&
                  travels<std::tuple<B...>>)
      j->send_to_other_ranks(
          detail::make_remote_for<detail::remote_bound_arrays<Leader, Follower, Map,
                                                              std::tuple<A...>, std::tuple<B...>>>(
              *j, {}, parts.id, parts.follower_id, args->value, other_args->value, sent,
              detail::sent_function<Map>{map}, sent, detail::sent_function<Map>{map}));
    else
      detail::refuse_to_travel<Map, A..., B...>("create_bound_arrays");
  }
  return detail::make_bound_arrays<Leader, Follower>(space, std::move(parts), args, other_args);
}

/// As above, with the placement `how`.
template <class Leader, class Follower, class... A, class... B>
requires dense_index<typename Leader::index_type>
[[nodiscard]] bound_arrays<Leader, Follower> create_bound_arrays(
    runtime& rt, const shape<typename Leader::index_type>& extent, placement how,
    const std::tuple<A...>& leader_args = {}, const std::tuple<B...>& follower_args = {}) {
  return create_bound_arrays<Leader, Follower>(
      rt, extent, detail::placement_rule{how, total_worker_count(rt), extent.size()}, leader_args,
      follower_args);
}

}  // namespace starling
