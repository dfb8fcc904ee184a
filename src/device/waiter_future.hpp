// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <utility>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/state.hpp>
#include <starling/device/detail/completion.hpp>

namespace starling::detail {

/// The state of a future that is also a waiter: one pooled block per future, no task.
template <std::derived_from<device_waiter> Waiter>
struct waiter_future final : block_state<void>, Waiter, pooled<block_kind::state> {
  template <class... Args>
  explicit waiter_future(Args&&... args) noexcept : Waiter(std::forward<Args>(args)...) {
    free = [](block_state<void>& s) noexcept { delete static_cast<waiter_future*>(&s); };
    this->notify = [](device_waiter& w) noexcept { static_cast<waiter_future&>(w).finish(); };
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
