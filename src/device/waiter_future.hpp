// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/state.hpp>

namespace starling::detail {

/// The state of a future that is also a waiter: one pooled block per future, no task. A `Waiter`
/// has an `error` and a function `notify`, which is called with the waiter on completion.
template <class Waiter>
struct waiter_future final : block_state<void>, Waiter, pooled<block_kind::state> {
  template <class... Args>
  explicit waiter_future(Args&&... args) noexcept : Waiter(std::forward<Args>(args)...) {
    free = [](block_state<void>& s) noexcept { delete static_cast<waiter_future*>(&s); };
    this->notify = [](Waiter& w) noexcept { static_cast<waiter_future&>(w).finish(); };
  }
  void finish() noexcept {
    if (this->error)
      this->state<void>::result.set_error(std::move(this->error));
    else
      this->state<void>::result.set_value();
    complete<void>(*this);
  }
};

}  // namespace starling::detail
