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

#include <starling/core/runtime.hpp>
#include <starling/objects/chare.hpp>

/// How arrays of chares come to be.
namespace starling {

/// How elements are spread over workers.
enum class placement : std::uint8_t {
  block,       ///< contiguous numbers on one worker, as equal in size as can be
  round_robin  ///< number modulo workers
};

namespace detail {

/// Numbers of elements to workers.
struct placement_map {
  placement how;
  std::uint64_t workers;
  std::uint64_t elements;
  template <class Index>
  std::uint64_t operator()(const Index&, std::uint64_t number) const noexcept {
    return how == placement::block ? number * workers / elements : number % workers;
  }
};

template <class T, class Map>
concept placement_for =
    std::is_invocable_r_v<std::size_t, const Map&, const typename T::index_type&, std::uint64_t>;

/// @throws usage_error
void require_elements(std::size_t count);

/// What `T` makes of itself on one worker, all elements at once.
template <class T, class Arguments>
void make_elements(array_part& p, const std::vector<typename array_of<T>::key>& keys,
                   const Arguments& args) noexcept {
  auto& array = array_of<T>::of(p);
  if (array.is_closed()) return;
  p.elements.reserve(keys.size());
  for (const auto& key : keys) {
    try {
      std::apply([&](const auto&... a) { array.make(p, key, 0, a...); }, args);
    } catch (...) {  // the run ends: the others are not needed
      return array.fail(array.name_of(key), constructor_info, std::current_exception());
    }
  }
  p.is_made = true;
  p.replay_early();
}

}  // namespace detail

/// Makes `extent.size()` chares T(args…), the one with index `i` and number n on the worker
/// `map(i, n)`. Returns at once: messages wait for the elements. Any thread.
/// @throws usage_error on an empty shape or a worker that does not exist
template <class T, class Map, class... Args>
requires dense_index<typename T::index_type> && detail::placement_for<T, Map>
[[nodiscard]] chare_array<T> create_array(runtime& rt, const shape<typename T::index_type>& extent,
                                          const Map& map, const Args&... args) {
  using arguments = std::tuple<std::decay_t<const Args&>...>;
  using key = typename detail::array_of<T>::key;
  detail::require_elements(extent.size());
  auto& space = rt.service<detail::object_space>();
  const detail::dense_table<T> table(extent, map);
  std::vector<std::vector<key>> keys(space.workers().size());
  table.for_each_key([&](key k) {
    detail::require_worker_number(table.worker_of(k), keys.size());
    keys[table.worker_of(k)].push_back(k);
  });
  auto& array = space.add(std::make_unique<detail::array_of<T>>(space, table));
  const auto shared = std::make_shared<const arguments>(args...);
  // Before any of them is there to contribute: the first constructor may.
  for (std::size_t w = 0; w < keys.size(); ++w) array.part(w).reductions->join(keys[w].size());
  for (std::size_t w = 0; w < keys.size(); ++w) {
    detail::array_part& p = array.part(w);
    detail::send_call(
        *p.home,
        [&p, shared, mine = std::move(keys[w])] { detail::make_elements<T>(p, mine, *shared); },
        priority::high);
  }
  return chare_array<T>(array);
}

/// As above, spread as `how` says.
template <class T, class... Args>
requires dense_index<typename T::index_type>
[[nodiscard]] chare_array<T> create_array(runtime& rt, const shape<typename T::index_type>& extent,
                                          placement how, const Args&... args) {
  return create_array<T>(rt, extent, detail::placement_map{how, rt.worker_count(), extent.size()},
                         args...);
}

/// A dense array without elements yet: `insert` makes them, until `done_inserting`.
template <class T>
requires dense_index<typename T::index_type>
[[nodiscard]] chare_array<T> create_empty_array(runtime& rt,
                                                const shape<typename T::index_type>& extent,
                                                placement how) {
  detail::require_elements(extent.size());
  auto& space = rt.service<detail::object_space>();
  const detail::placement_map map{how, rt.worker_count(), extent.size()};
  auto& array =
      space.add(std::make_unique<detail::array_of<T>>(space, detail::dense_table<T>(extent, map)));
  array.expect_insertions();
  return chare_array<T>(array);
}

/// An array of elements with any indices, which std::hash and == know. None exist at first.
/// `map(index)` is the worker of an element, usage_error where there is no such worker; the default
/// spreads them by hash.
template <class T, class Map>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt, const Map& map) {
  auto& space = rt.service<detail::object_space>();
  auto& array = space.add(std::make_unique<detail::array_of<T>>(
      space, detail::sparse_table<T>(space.workers().size(), map)));
  array.expect_insertions();
  return chare_array<T>(array);
}
template <class T>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt) {
  return create_sparse_array<T>(
      rt, [workers = std::size_t(rt.worker_count())](const typename T::index_type& i) {
        return std::hash<typename T::index_type>()(i) % workers;
      });
}

/// One chare per rank, with the rank's number as its index, on the rank's first worker.
template <class T, class... Args>
[[nodiscard]] chare_array<T> create_rank_group(runtime& rt, const Args&... args) {
  return create_array<T>(rt, 1, placement::block, args...);
}

/// One chare per worker, with the worker's number as its index.
template <class T, class... Args>
[[nodiscard]] chare_array<T> create_group(runtime& rt, const Args&... args) {
  return create_array<T>(rt, int(rt.worker_count()), placement::round_robin, args...);
}

}  // namespace starling
