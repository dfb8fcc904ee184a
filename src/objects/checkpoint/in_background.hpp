// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <starling/core/future.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/detail/send.hpp>

#include "objects/checkpoint/background_writer.hpp"

namespace starling::detail {

/// Calls `f()`, destroys `f`, and gives the result, or the exception, to `to`: the caller keeps no
/// reference to the exception, which another thread may destroy.
template <class R, class F>
void fulfil(promise<R>& to, std::optional<F>& f) {
  std::exception_ptr failed;
  std::conditional_t<std::is_void_v<R>, std::monostate, std::optional<R>> result;
  try {
    if constexpr (std::is_void_v<R>)
      (*f)();
    else
      result.emplace((*f)());
  } catch (...) {
    failed = std::current_exception();
  }
  f.reset();
  if (failed)
    to.set_exception(std::move(failed));
  else if constexpr (std::is_void_v<R>)
    to.set_value();
  else
    to.set_value(std::move(*result));
}

/// Calls `f()` on the thread of `by`. The run is not quiescent before the end of the call.
template <class F>
[[nodiscard]] auto in_background(background_writer& by, runtime& rt, F f) {
  using result = std::invoke_result_t<F&>;
  struct call {
    std::optional<F> f;
    external_work until_the_end;
    promise<result> to;
  };
  auto made = std::make_shared<call>(call{std::move(f), rt.hold_external_work(), {}});
  future<result> answer = made->to.get_future();
  by.write(
      [made] {
        fulfil(made->to, made->f);
        return share_summary();
      },
      [](share_summary, const std::exception_ptr&) {});
  return answer;
}

/// Calls `f()` on a worker.
template <class F>
[[nodiscard]] auto on_worker(worker& w, F f) {
  using result = std::invoke_result_t<F&>;
  promise<result> to;
  future<result> answer = to.get_future();
  send_call(
      w, [f = std::optional<F>(std::move(f)), to = std::move(to)]() mutable { fulfil(to, f); },
      priority::high);
  return answer;
}

}  // namespace starling::detail
