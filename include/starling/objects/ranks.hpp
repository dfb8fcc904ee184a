// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/error.hpp>

/// The ranks of a job, from inside: `run` (exit.hpp) joins it.
namespace starling {

/// The number of a rank.
struct rank {
  explicit constexpr rank(int n) noexcept : number(n) {}
  int number;
  friend bool operator==(rank, rank) = default;
};

/// On a worker. @throws usage_error elsewhere
[[nodiscard]] rank this_rank();
[[nodiscard]] int rank_count();
/// The calling worker's number among those of all ranks, 0 ≤ worker_number() < total_worker_count.
[[nodiscard]] std::size_t worker_number();

namespace detail {

/// Of the calling worker. @throws usage_error on another thread
[[nodiscard]] object_space& space_here();
/// @throws usage_error where there is no such rank
void require_rank(const object_space& space, rank where);

template <auto Function>
struct named_function {
  template <class... A>
  auto operator()(A&&... args) const {
    return Function(std::forward<A>(args)...);
  }
};

template <class F, class... Args>
using remote_result_of = unwrapped_t<std::invoke_result_t<F, Args...>>;

/// A function on another rank, and its answer.
template <class F, class... Args>
struct remote_function_call {
  using result = remote_result_of<F, Args...>;

  static void run(arrival& a) {
    input_archive ar = a.arguments();
    const auto to = read_reply_address(ar);
    auto f = load_function<F>(ar);
    auto args = ar.read<std::tuple<Args...>>();
    require_end(ar);
    post(answer(remote_promise<result>(*a.space().others(), to), std::move(f), std::move(args)));
  }

 private:
  static task<> answer(remote_promise<result> to, F f, std::tuple<Args...> args) {
    remote_promise<result> reply = std::move(to);
    try {
      auto work = [&] {
        return std::apply(
            [&](auto&... each) { return call<F, Args...>(std::move(f), std::move(each)...); },
            args);
      }();
      if constexpr (std::is_void_v<result>) {
        co_await std::move(work);
        reply.set_value();
      } else {
        reply.set_value(co_await std::move(work));
      }
    } catch (...) {
      reply.set_exception(std::current_exception());
    }
  }
};

}  // namespace detail

/// Calls `f(args…)` as a task of a rank and returns the future of its result; a task that it
/// returns is awaited. `f` is an object without state, such as a lambda without captures, or one
/// that can travel, as can the arguments and the result. On a worker. What `f` throws is what
/// awaiting throws: of the same type where that is one of Starling's or of <stdexcept>, else
/// remote_error.
/// What cannot travel does not compile. @throws usage_error where there is no such rank
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto async(rank where, F&& f, Args&&... args) {
  using function = std::decay_t<F>;
  using result = detail::remote_result_of<function, std::decay_t<Args>...>;
  static_assert(!std::is_pointer_v<function>,
                "a function's address is that of this rank: name it, async<&work>(rank, …)");
  constexpr bool all_travel = detail::function_travels<function> &&
                              (travels<std::decay_t<Args>> && ...) &&
                              detail::result_travels<result>;
  static_assert(all_travel,
                "async on a rank: the function (a lambda with captures?), an argument or the "
                "result cannot travel; give it what it needs as arguments");
  promise<result> reply;
  future<result> answer = reply.get_future();
  if constexpr (all_travel) {
    detail::object_space& space = detail::space_here();
    detail::require_rank(space, where);
    if (where.number == space.rank()) return async(std::forward<F>(f), std::forward<Args>(args)...);
    detail::ask<detail::remote_function_call<function, std::decay_t<Args>...>>(
        *space.others(), where.number, {}, std::move(reply), detail::sent_function<function>{f},
        std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }
  return answer;
}

/// The same of a function: `async<&work>(rank(1), 3)`.
template <auto Function, class... Args>
auto async(rank where, Args&&... args) {
  return async(where, detail::named_function<Function>(), std::forward<Args>(args)...);
}

}  // namespace starling
