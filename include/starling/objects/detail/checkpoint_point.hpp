// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <vector>

#include <starling/objects/detail/collective_point.hpp>

/// The checkpoint that the elements of an array take together.
namespace starling::detail {

enum class checkpoint_rule : std::uint8_t { always, if_requested };

/// The target of the reduction of all calls: takes the checkpoint. On worker 0 of rank 0.
class to_checkpoint final : public starling::callback<std::uint64_t>::target {
 public:
  using result = std::uint64_t;
  to_checkpoint(array_base& array, std::uint32_t round, checkpoint_rule rule) noexcept
      : m_array(array), m_round(round), m_rule(rule) {}
  void deliver(std::uint64_t&& step) noexcept override;
  void fail(const std::exception_ptr& error) noexcept override;
  std::vector<std::byte> pack() override {
    return pack_made<to_checkpoint>(m_array.id(), m_round, m_rule);
  }
  static constexpr auto made = remote_function::kind::target;
  static counted_owner make(input_archive& ar);

 private:
  array_base& m_array;
  std::uint32_t m_round;  // as in point_wait
  checkpoint_rule m_rule;
};

/// Awaiter of `checkpoint()` and `checkpoint_if_requested()`.
template <class T>
class checkpoint_awaiter : public collective_point<T> {
 public:
  checkpoint_awaiter(const next_reduction& next, std::uint64_t step, checkpoint_rule rule)
      : collective_point<T>(
            next, rule == checkpoint_rule::always ? "checkpoint()" : "checkpoint_if_requested()"),
        m_round(next.count), m_step(step), m_rule(rule) {
    this->wait().is_checkpoint = true;
  }
  bool await_ready() const noexcept { return false; }
  template <runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) {
    const starling::callback<std::uint64_t> to(
        counted_ptr(new to_checkpoint(this->array(), m_round, m_rule)));
    this->come(
        h, at, [this] { return m_step; }, reduction::max(), to);
  }

 private:
  std::uint32_t m_round;
  std::uint64_t m_step;
  checkpoint_rule m_rule;
};

}  // namespace starling::detail
