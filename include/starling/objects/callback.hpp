// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include <starling/core/future.hpp>

namespace starling {

/// Where a result goes: an entry method of one element or of a whole array, or a future. Made by
/// `element::to`, `chare_array::to` and `make_reply`. A small value, copied and sent freely.
template <class V>
class callback {
 public:
  class target {
   public:
    virtual ~target() = default;
    virtual void deliver(V&& value) noexcept = 0;
    virtual void fail(const std::exception_ptr& error) noexcept = 0;
  };

  /// Nobody is told.
  callback() noexcept = default;
  explicit callback(std::shared_ptr<target> to) noexcept : m_target(std::move(to)) {}

  /// On a worker.
  void deliver(V&& value) const noexcept {
    if (m_target != nullptr) m_target->deliver(std::move(value));
  }
  void fail(const std::exception_ptr& error) const noexcept {
    if (m_target != nullptr) m_target->fail(error);
  }

 private:
  std::shared_ptr<target> m_target;
};

namespace detail {

/// A second result for a callback that can take one only: ends the run.
void refuse_second_reply() noexcept;

}  // namespace detail

/// A callback for one result and the future that it fulfils. A second result ends the run with
/// usage_error. @throws std::bad_alloc
template <class V>
[[nodiscard]] std::pair<callback<V>, future<V>> make_reply() {
  struct reply final : callback<V>::target {
    void deliver(V&& value) noexcept override {
      if (is_first()) result.set_value(std::move(value));
    }
    void fail(const std::exception_ptr& error) noexcept override {
      if (is_first()) result.set_exception(error);
    }
    bool is_first() noexcept {
      const bool first = !told.test_and_set(std::memory_order_relaxed);
      if (!first) detail::refuse_second_reply();
      return first;
    }
    promise<V> result;
    std::atomic_flag told;  // publishes nothing: who is first goes on alone
  };
  auto to = std::make_shared<reply>();
  future<V> answer = to->result.get_future();
  return {callback<V>(std::move(to)), std::move(answer)};
}

}  // namespace starling
