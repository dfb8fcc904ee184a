// SPDX-License-Identifier: Apache-2.0
#pragma once

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

  void deliver(V&& value) const noexcept {
    if (m_target != nullptr) m_target->deliver(std::move(value));
  }
  void fail(const std::exception_ptr& error) const noexcept {
    if (m_target != nullptr) m_target->fail(error);
  }

 private:
  std::shared_ptr<target> m_target;
};

/// A callback and the future that it fulfils. @throws std::bad_alloc
template <class V>
[[nodiscard]] std::pair<callback<V>, future<V>> make_reply() {
  struct reply final : callback<V>::target {
    void deliver(V&& value) noexcept override { result.set_value(std::move(value)); }
    void fail(const std::exception_ptr& error) noexcept override { result.set_exception(error); }
    promise<V> result;
  };
  auto to = std::make_shared<reply>();
  future<V> answer = to->result.get_future();
  return {callback<V>(std::move(to)), std::move(answer)};
}

}  // namespace starling
