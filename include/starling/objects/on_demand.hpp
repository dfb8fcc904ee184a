// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include <starling/objects/create.hpp>

/// Sparse arrays whose elements are made by the first messages to them.
namespace starling {

namespace detail {

/// Makes this rank's part of an array whose elements messages make.
template <class T, class Arguments>
array_of<T>& make_demand_array(object_space& space, object_id id, table_of<T> table,
                               const shared_value<Arguments>& args) {
  std::unique_ptr<array_base> made(new array_of<T>(space, id, std::move(table)));
  auto& array = static_cast<array_of<T>&>(*made);
  array.expect_insertions();
  array.make_on_demand_by([&array, args](local_elements& local, const typename array_of<T>::key& k,
                                         std::uint32_t first) {
    std::apply([&](const auto&... a) { array.make(local, k, first, a...); }, args->value);
  });
  space.add_array(std::move(made));
  return array;
}

/// Handler that makes this rank's part of such an array created on another rank.
template <class T, class Map, class Arguments>
struct remote_demand_array {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    const shared_value<Arguments> args(new counted_value<Arguments>(ar.read<Arguments>()));
    auto table = read_table<T, Map>(a.space(), ar);
    require_end(ar);
    make_demand_array<T>(a.space(), id, std::move(table), args);
  }
};

}  // namespace detail

/// Policy of a sparse array: the first message to an index without an element makes the element
/// there, T(args…), on the worker of its placement, and is then processed. Exactly one element is
/// made for each index, whichever ranks and workers send the first messages. That is an insertion:
/// it has the same effect on broadcasts and reductions as one by another rank, and after
/// `done_inserting` messages to missing elements are errors.
///
/// Messages are those of `invoke` and `call`, results of callbacks, channel offers, and messages to
/// a section of which the index is a member. Broadcasts to the array, `element::local` and
/// `element::destroy` make no element; `destroy` of a missing one is an error at once. The index of
/// a destroyed element may be used again, except if that has ever migrated: then messages to it are
/// errors.
template <class... Args>
struct on_demand {
  explicit on_demand(Args... args) : arguments(std::move(args)...) {}
  std::tuple<Args...> arguments;  // of the constructor, copied for each element
};

/// As create_sparse_array without a policy, for elements that are made on demand. An exception of a
/// constructor ends the run with entry_error. @throws usage_error when an argument or `map` cannot
/// travel
template <class T, class Map, class... Args>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt, const Map& map,
                                                     const on_demand<Args...>& policy) {
  using arguments = std::tuple<Args...>;
  detail::check_travel<T, typename T::index_type, Args...>();
  auto& space = rt.service<detail::object_space>();
  const detail::object_id id = space.next_id();
  const detail::shared_value<arguments> shared(
      new detail::counted_value<arguments>(policy.arguments));
  auto& array = detail::make_demand_array<T>(
      space, id, detail::sparse_table<T>(space.worker_total(), space.workers().size(), map),
      shared);
  if (detail::job* j = space.current_job()) {
    if constexpr (detail::function_travels<Map> && travels<arguments>)
      j->send_to_other_ranks(
          detail::make_remote_for<detail::remote_demand_array<T, Map, arguments>>(
              *j, {}, id, shared->value, detail::sent_function<Map>{map}));
    else
      detail::refuse_to_travel<Map, Args...>("create_sparse_array");
  }
  return chare_array<T>(array);
}
template <class T, class... Args>
requires(!dense_index<typename T::index_type>)
    [[nodiscard]] chare_array<T> create_sparse_array(runtime& rt,
                                                     const on_demand<Args...>& policy) {
  return create_sparse_array<T>(
      rt, detail::hash_map<typename T::index_type>{total_worker_count(rt)}, policy);
}

}  // namespace starling
