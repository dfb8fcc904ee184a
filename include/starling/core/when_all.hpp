// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <starling/core/detail/join.hpp>
#include <starling/core/detail/race.hpp>
#include <starling/core/future.hpp>

namespace starling {
namespace detail {

/// Returns the state of a future to be joined. @throws usage_error if the future is not valid
template <class T>
state_base* state_of(const future<T>& input) {
  if (!input.valid()) throw usage_error("join of a future that was already consumed or moved from");
  return input.state();
}

template <class T>
std::vector<state_base*> states_of(const std::vector<future<T>>& inputs) {
  std::vector<state_base*> states;
  states.reserve(inputs.size());
  for (const future<T>& f : inputs) states.push_back(state_of(f));
  return states;
}

template <class T>
using non_void = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// A result as an entry of a vector.
template <class T>
using stored_result = std::conditional_t<std::is_reference_v<T>,
                                         std::reference_wrapper<std::remove_reference_t<T>>, T>;

/// Takes the result of a ready future, or rethrows its error.
template <class T>
non_void<T> take_result(const future<T>& ready) {
  if constexpr (std::is_void_v<T>) {
    ready.state()->result.take();
    return {};
  } else {
    return ready.state()->result.take();
  }
}

}  // namespace detail

/// Waits for all inputs and returns their results in order (`std::reference_wrapper` for
/// references), or rethrows the error of the first failed input, in order. The inputs run already;
/// the join itself starts when it is awaited (`spawn` it to get a future).
template <class T>
requires(!std::is_void_v<T>) [[nodiscard]] task<std::vector<detail::stored_result<T>>> when_all(
    std::vector<future<T>> inputs) {
  const std::vector<detail::state_base*> states = detail::states_of(inputs);
  co_await detail::join_awaiter(states);
  std::vector<detail::stored_result<T>> results;
  results.reserve(inputs.size());
  for (const future<T>& f : inputs) results.push_back(detail::take_result(f));
  co_return results;
}

/// As above for inputs without a value.
[[nodiscard]] inline task<void> when_all(std::vector<future<void>> inputs) {
  const std::vector<detail::state_base*> states = detail::states_of(inputs);
  co_await detail::join_awaiter(states);
  for (const future<void>& f : inputs) detail::take_result(f);
}

/// As above for futures of several types: returns a tuple (`std::monostate` for void).
template <class... Ts>
requires(sizeof...(Ts) > 0)
    [[nodiscard]] task<std::tuple<detail::non_void<Ts>...>> when_all(future<Ts>... inputs) {
  detail::state_base* const states[] = {detail::state_of(inputs)...};
  co_await detail::join_awaiter(states);
  co_return std::tuple<detail::non_void<Ts>...>{detail::take_result(inputs)...};
}

/// Index of the input that was ready first, and all inputs.
template <class T>
struct when_any_result {
  std::size_t index;
  std::vector<future<T>> futures;
};

/// Waits until the first of `inputs` is ready; the remaining work continues. If `stop` is requested
/// before, throws `operation_cancelled` and detaches all inputs. @throws usage_error for no inputs
template <class T>
[[nodiscard]] task<when_any_result<T>> when_any(std::vector<future<T>> inputs,
                                                std::stop_token stop = {}) {
  const std::vector<detail::state_base*> states = detail::states_of(inputs);
  if (states.empty()) throw usage_error("when_any of no futures would wait for ever");
  const std::size_t winner = co_await detail::race_awaiter(states, std::move(stop));
  co_return when_any_result<T>{winner, std::move(inputs)};
}

/// As above for futures of several types.
template <class... Ts>
struct when_any_tuple {
  std::size_t index;
  std::tuple<future<Ts>...> futures;
};

template <class... Ts>
requires(sizeof...(Ts) > 0)
    [[nodiscard]] task<when_any_tuple<Ts...>> when_any(future<Ts>... inputs) {
  detail::state_base* const states[] = {detail::state_of(inputs)...};
  const std::size_t winner = co_await detail::race_awaiter(states);
  co_return when_any_tuple<Ts...>{winner, {std::move(inputs)...}};
}

/// Returns the result of `input`. If `stop` is requested first, throws `operation_cancelled` and
/// detaches the work, which continues (pass it the token, too, if it should end early). A result
/// that is ready already takes precedence over the token.
template <class T>
[[nodiscard]] task<T> cancellable(future<T> input, std::stop_token stop) {
  detail::state_base* const states[] = {detail::state_of(input)};
  co_await detail::race_awaiter(states, std::move(stop));
  co_return input.state()->result.take();
}

}  // namespace starling
