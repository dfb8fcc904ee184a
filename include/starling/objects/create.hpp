// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <starling/core/detail/counted.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/chare.hpp>
#include <starling/objects/placement.hpp>

/// Functions that create arrays of chares.
namespace starling {

namespace detail {

/// Returns whether the number of elements fits into 32 bits.
template <class Index>
[[nodiscard]] constexpr bool is_countable(const shape<Index>& s) noexcept {
  std::uint64_t n = 1;
  for (const int e : coordinates(s.extent()))
    if (e < 0 || (n *= std::uint64_t(e)) >= std::uint64_t{1} << 32) return false;
  return true;
}

template <class T, class Map>
concept placement_for = std::same_as<Map, placement_rule> ||
    std::is_invocable_r_v<std::size_t, const Map&, const typename T::index_type&, std::uint64_t>;

/// @throws usage_error
void require_elements(std::size_t count);

/// Makes all local elements of one worker, on that worker. Returns false if the run has ended; an
/// exception ends it.
template <class T, class Arguments>
[[nodiscard]] bool construct_elements(local_elements& local, const Arguments& args) noexcept {
  auto& array = array_of<T>::of(local);
  if (array.is_closed()) return false;
  const std::size_t count = array.table().count(local.index);
  local.elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = array.table().key_at(local.index, i);
    try {
      std::apply([&](const auto&... a) { array.make(local, key, 0, a...); }, args);
    } catch (...) {  // the run ends: the remaining elements are not needed
      array.fail(array.name_of(key), constructor_info, std::current_exception());
      return false;
    }
  }
  local.is_made = true;
  return true;
}
/// As above, and processes the messages that have arrived before the elements.
template <class T, class Arguments>
void make_elements(local_elements& local, const Arguments& args) noexcept {
  if (construct_elements<T>(local, args)) local.replay_early();
}

/// Makes this rank's part of a dense array and sends its workers the requests to make the elements.
template <class T, class Arguments>
array_of<T>& make_array(object_space& space, object_id id, dense_table<T> table,
                        const shared_value<Arguments>& args) {
  std::unique_ptr<array_base> made(new array_of<T>(space, id, std::move(table)));
  auto& array = static_cast<array_of<T>&>(*made);
  // Before any element exists: constructors may contribute.
  for (const local_elements& local : array.locals())
    local.reductions->join(array.table().count(local.index));
  space.add_array(std::move(made));
  for (local_elements& local : array.locals())
    send_call(
        *local.home, [&local, args] { make_elements<T>(local, args->value); }, priority::high);
  return array;
}

/// Makes this rank's part of an array whose elements are inserted later.
template <class T>
array_of<T>& make_empty_array(object_space& space, object_id id, table_of<T> table) {
  std::unique_ptr<array_base> made(new array_of<T>(space, id, std::move(table)));
  auto& array = static_cast<array_of<T>&>(*made);
  array.expect_insertions();
  space.add_array(std::move(made));
  return array;
}

/// Makes this rank's part of an array whose elements a checkpoint makes. `takes_more`: `insert`
/// makes further ones.
template <class T>
array_of<T>& make_stored_array(object_space& space, object_id id, table_of<T> table,
                               bool takes_more) {
  std::unique_ptr<array_base> made(new array_of<T>(space, id, std::move(table)));
  auto& array = static_cast<array_of<T>&>(*made);
  if (takes_more) array.expect_insertions();
  array.expect_stored();
  space.add_array(std::move(made));
  return array;
}

/// Default map of sparse arrays: the worker is the hash of the index modulo the number of workers.
template <class Index>
struct hash_map {
  std::uint64_t workers;
  std::size_t operator()(const Index& i) const { return std::hash<Index>()(i) % workers; }
};

/// Map that assigns the element with number n to the first worker of rank n.
struct first_workers {
  std::vector<std::uint64_t> of;
  template <class Index>
  std::uint64_t operator()(const Index&, std::uint64_t number) const {
    return of[number];
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(of);
  }
};

/// Returns whether a map that was read from a message is valid for these numbers of workers and
/// elements. User-defined maps are not checked.
template <class Map>
[[nodiscard]] bool can_map(const Map&, std::size_t, std::size_t) noexcept {
  return true;
}
[[nodiscard]] inline bool can_map(const placement_rule& m, std::size_t workers,
                                  std::size_t elements) noexcept {
  return m.how <= placement::round_robin && m.workers == workers && m.elements == elements;
}
template <class Index>
[[nodiscard]] bool can_map(const hash_map<Index>& m, std::size_t workers, std::size_t) noexcept {
  return m.workers == workers;
}
[[nodiscard]] inline bool can_map(const first_workers& m, std::size_t, std::size_t elements) {
  return m.of.size() == elements;
}

/// A shape and its number of elements, by which the receiver detects a corrupted shape before it
/// allocates memory for it.
template <class Index>
struct sent_shape {
  Index extent{};
  std::uint64_t elements = shape<Index>(extent).size();
};

/// Reads a map for an array of `elements` elements from a message. @throws archive_error
template <class Map>
[[nodiscard]] Map read_map(const object_space& space, input_archive& ar, std::size_t elements) {
  Map map = load_function<Map>(ar);
  if (!can_map(map, space.worker_total(), elements))
    ar.refuse("a placement", "it is not for such an array");
  return map;
}

/// Reads the placement of an array from a message. @throws archive_error, usage_error
template <class T, class Map>
[[nodiscard]] table_of<T> read_table(const object_space& space, input_archive& ar) {
  using index = typename T::index_type;
  if constexpr (dense_index<index>) {
    const auto sent = ar.read<sent_shape<index>>();
    if (!is_countable(shape<index>(sent.extent)) || sent.elements == 0 ||
        sent.elements != shape<index>(sent.extent).size())
      ar.refuse("a shape", "it has another number of elements than is said");
    return dense_table<T>(space, sent.extent, read_map<Map>(space, ar, sent.elements));
  } else {
    return sparse_table<T>(space.worker_total(), space.workers().size(),
                           read_map<Map>(space, ar, 0));
  }
}

/// Handler that makes this rank's part of an array created on another rank.
template <class T, class Map, class Arguments>
struct remote_array {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    const shared_value<Arguments> args(new counted_value<Arguments>(ar.read<Arguments>()));
    auto table = read_table<T, Map>(a.space(), ar);
    require_end(ar);
    make_array<T>(a.space(), id, std::move(table), args);
  }
};
template <class T, class Map>
struct remote_empty_array {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    auto table = read_table<T, Map>(a.space(), ar);
    require_end(ar);
    make_empty_array<T>(a.space(), id, std::move(table));
  }
};

template <class T, class Map>
struct remote_stored_array {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    const auto takes_more = ar.read<bool>();
    auto table = read_table<T, Map>(a.space(), ar);
    require_end(ar);
    make_stored_array<T>(a.space(), id, std::move(table), takes_more);
  }
};
/// Makes an array whose elements a checkpoint makes, on all ranks. `placement`: what read_table
/// reads on the other ranks.
template <class T, class Map, class... Placement>
[[nodiscard]] chare_array<T> create_stored_array(object_space& space, table_of<T> table,
                                                 bool takes_more, const Placement&... placement) {
  const object_id id = space.next_id();
  auto& array = make_stored_array<T>(space, id, std::move(table), takes_more);
  if (job* j = space.current_job()) {
    if constexpr (function_travels<Map>)
      j->send_to_other_ranks(
          make_remote_for<remote_stored_array<T, Map>>(*j, {}, id, takes_more, placement...));
    else
      refuse_to_travel<Map>("checkpoints::create_array");
  }
  return chare_array<T>(array);
}

}  // namespace detail

/// Returns the number of workers of all ranks.
[[nodiscard]] inline std::size_t total_worker_count(runtime& rt) {
  return rt.service<detail::object_space>().worker_total();
}

/// Makes `extent.size()` chares T(args…). The element with index `i` and number n is placed on
/// worker `map(i, n)`, counted over all ranks. Returns at once: messages wait for the elements. Any
/// thread. In a job of several ranks only one rank calls it, the arguments must be able to travel,
/// and `map` must be stateless or able to travel. A copy of `map` is called for each proxy of an
/// element that is made or received, on any thread, and must always return the same worker for it.
/// @throws usage_error on an empty shape, a worker that does not exist, or a map or an argument
/// that cannot travel
template <class T, class Map, class... Args>
requires dense_index<typename T::index_type> && detail::placement_for<T, Map>
[[nodiscard]] chare_array<T> create_array(runtime& rt, const shape<typename T::index_type>& extent,
                                          const Map& map, const Args&... args) {
  using arguments = std::tuple<std::decay_t<const Args&>...>;
  detail::check_travel<T, std::decay_t<const Args&>...>();
  detail::require_elements(extent.size());
  auto& space = rt.service<detail::object_space>();
  const detail::object_id id = space.next_id();
  const detail::shared_value<arguments> shared(new detail::counted_value<arguments>(args...));
  detail::dense_table<T> table(space, extent, map);
  // First: a constructor may send messages that other ranks can process only when they have the
  // array.
  if (detail::job* j = space.current_job()) {
    if constexpr (detail::function_travels<Map> && travels<arguments>)
      j->send_to_other_ranks(detail::make_remote_for<detail::remote_array<T, Map, arguments>>(
          *j, {}, id, shared->value, detail::sent_shape<typename T::index_type>{extent.extent()},
          detail::sent_function<Map>{map}));
    else
      detail::refuse_to_travel<Map, std::decay_t<const Args&>...>("create_array");
  }
  return chare_array<T>(detail::make_array<T>(space, id, std::move(table), shared));
}

/// As above, with the placement `how`.
template <class T, class... Args>
requires dense_index<typename T::index_type>
[[nodiscard]] chare_array<T> create_array(runtime& rt, const shape<typename T::index_type>& extent,
                                          placement how, const Args&... args) {
  return create_array<T>(
      rt, extent, detail::placement_rule{how, total_worker_count(rt), extent.size()}, args...);
}

/// Creates a dense array without elements: `insert` makes them, until `done_inserting`. An element
/// inserted by another rank contributes to the reductions that begin after the insertion's arrival.
template <class T>
requires dense_index<typename T::index_type>
[[nodiscard]] chare_array<T> create_empty_array(runtime& rt,
                                                const shape<typename T::index_type>& extent,
                                                placement how) {
  detail::require_elements(extent.size());
  auto& space = rt.service<detail::object_space>();
  const detail::object_id id = space.next_id();
  const detail::placement_rule rule{how, space.worker_total(), extent.size()};
  auto& array = detail::make_empty_array<T>(space, id, detail::dense_table<T>(space, extent, rule));
  if (detail::job* j = space.current_job())
    j->send_to_other_ranks(
        detail::make_remote<detail::remote_empty_array<T, detail::placement_rule>>(
            {}, id, detail::sent_shape<typename T::index_type>{extent.extent()}, rule));
  return chare_array<T>(array);
}

/// Creates an array without elements whose indices are of any type with std::hash and ==; `insert`
/// makes elements. `map(index)` returns the worker of an element, counted over all ranks; an
/// element on a worker that does not exist is a usage_error. The default map uses std::hash.
template <class T, class Map>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt, const Map& map) {
  auto& space = rt.service<detail::object_space>();
  const detail::object_id id = space.next_id();
  auto& array = detail::make_empty_array<T>(
      space, id, detail::sparse_table<T>(space.worker_total(), space.workers().size(), map));
  if (detail::job* j = space.current_job()) {
    if constexpr (detail::function_travels<Map>)
      j->send_to_other_ranks(detail::make_remote_for<detail::remote_empty_array<T, Map>>(
          *j, {}, id, detail::sent_function<Map>{map}));
    else
      detail::refuse_to_travel<Map>("create_sparse_array");
  }
  return chare_array<T>(array);
}
template <class T>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt) {
  return create_sparse_array<T>(rt,
                                detail::hash_map<typename T::index_type>{total_worker_count(rt)});
}

/// Creates one chare for each rank, on the rank's first worker; its index is the rank's number.
template <class T, class... Args>
[[nodiscard]] chare_array<T> create_rank_group(runtime& rt, const Args&... args) {
  auto& space = rt.service<detail::object_space>();
  detail::first_workers firsts{{0}};
  for (int rank = 1; rank < space.rank_count(); ++rank)
    firsts.of.push_back(space.current_job()->first_worker(rank));
  return create_array<T>(rt, space.rank_count(), firsts, args...);
}

/// Creates one chare for each worker of all ranks; its index is the worker's number.
template <class T, class... Args>
[[nodiscard]] chare_array<T> create_group(runtime& rt, const Args&... args) {
  return create_array<T>(rt, int(total_worker_count(rt)), placement::round_robin, args...);
}

}  // namespace starling
