// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/error.hpp>

/// The ranks of a job, for tasks and entry methods; `run` (exit.hpp) joins the job.
namespace starling {

/// The number of a rank.
struct rank {
  explicit constexpr rank(int n) noexcept : number(n) {}
  int number;
  friend bool operator==(rank, rank) = default;
};

/// Returns the rank of the calling worker. On a worker, as are the functions below.
/// @throws usage_error on another thread
[[nodiscard]] rank this_rank();
[[nodiscard]] int rank_count();
/// Returns the calling worker's number among those of all ranks, below total_worker_count.
[[nodiscard]] std::size_t worker_number();

namespace detail {

/// Returns the object space of the calling worker. @throws usage_error on another thread
[[nodiscard]] object_space& space_here();
/// @throws usage_error when the rank does not exist
void require_rank(const object_space& space, rank target);

template <auto Function>
struct named_function {
  template <class... A>
  auto operator()(A&&... args) const {
    return Function(std::forward<A>(args)...);
  }
};

template <class F, class... Args>
using remote_result_of = unwrapped_t<std::invoke_result_t<F, Args...>>;

/// Handler that calls a function for another rank and sends back the result.
template <class F, class... Args>
struct remote_function_call {
  using result = remote_result_of<F, Args...>;

  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto to = read_reply_address(ar);
    auto f = load_function<F>(ar);
    auto args = ar.read<std::tuple<Args...>>();
    require_end(ar);
    post(answer(remote_promise<result>(*a.space().current_job(), to), std::move(f),
                std::move(args)));
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

/// Calls `f(args…)` as a task on rank `target` and returns the future of its result; if `f` returns
/// a task, that task is awaited. On a worker. `f` is stateless, such as a lambda without captures,
/// or able to travel; arguments and result must be able to travel. Otherwise the call does not
/// compile. Awaiting rethrows the exception of `f`: with its type if that is a type of Starling or
/// of `<stdexcept>`, else as remote_error. @throws usage_error when the rank does not exist
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto async(rank target, F&& f, Args&&... args) {
  using function = std::decay_t<F>;
  using result = detail::remote_result_of<function, std::decay_t<Args>...>;
  static_assert(!std::is_pointer_v<function>,
                "a function's address is that of this rank: name it, async<&work>(rank, …)");
  constexpr bool all_travel = detail::function_travels<function> &&
                              (travels<std::decay_t<Args>> && ...) &&
                              detail::result_travels<result>;
  static_assert(all_travel,
                "async on a rank: the function (a lambda with captures?), an argument or the "
                "result cannot travel; pass the captured values as arguments");
  promise<result> reply;
  future<result> answer = reply.get_future();
  if constexpr (all_travel) {
    detail::object_space& space = detail::space_here();
    detail::require_rank(space, target);
    if (target.number == space.rank())
      return async(std::forward<F>(f), std::forward<Args>(args)...);
    detail::ask<detail::remote_function_call<function, std::decay_t<Args>...>>(
        *space.current_job(), target.number, {}, std::move(reply),
        detail::sent_function<function>{f},
        std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }
  return answer;
}

/// As above, for a function: `async<&work>(rank(1), 3)`.
template <auto Function, class... Args>
auto async(rank target, Args&&... args) {
  return async(target, detail::named_function<Function>(), std::forward<Args>(args)...);
}

}  // namespace starling
