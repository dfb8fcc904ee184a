// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <starling/core/detail/stoppable.hpp>
#include <starling/core/error.hpp>
#include <starling/core/future.hpp>

namespace starling::detail {

/// Shared state of a wait for the first of several inputs. It outlives the wait, because an input
/// that was not first may be about to notify. The awaiter and each subscription that is not
/// withdrawn hold a reference.
class race_block final : public pooled<block_kind::state> {
 public:
  static constexpr std::size_t none = ~std::size_t(0);
  static constexpr std::size_t interrupted = none - 1;
  static constexpr std::size_t cancelled = none - 2;

  explicit race_block(std::span<state_base* const> inputs) {
    m_entries.reserve(inputs.size());
    for (state_base* input : inputs) m_entries.push_back({{&on_ready}, this, input});
  }

  /// Subscribes to the inputs; `waiting` is not resumed before `meet`. False: an input is ready.
  bool subscribe(promise_base& waiting) noexcept {
    m_waiting = &waiting;
    for (std::size_t i = 0; i < m_entries.size() && m_winner.load() == none; ++i) {
      m_references.fetch_add(1, std::memory_order_relaxed);
      m_entries[i].subscribed = true;
      if (m_entries[i].input->subscribe(m_entries[i])) continue;
      m_entries[i].subscribed = false;
      m_references.fetch_sub(1, std::memory_order_relaxed);
      if (claim(i)) return false;
    }
    return true;
  }

  /// Called once by the suspending coroutine and once by the winner. True: the second call, whose
  /// caller continues the coroutine.
  bool meet() noexcept { return m_met.exchange(true, std::memory_order_acq_rel); }

  /// Ends the race for a stop token. Any thread, until `finish`.
  void cancel() noexcept { end(cancelled); }

  /// Withdraws the remaining subscriptions; returns the winner's index, `cancelled` or
  /// `interrupted`.
  [[nodiscard]] std::size_t finish() noexcept {
    for (entry& e : m_entries)
      if (e.subscribed && e.input->withdraw(static_cast<callback*>(&e))) drop();
    const std::size_t winner = m_winner.load(std::memory_order_acquire);
    drop();
    return winner;
  }

  static bool withdraw_waiter(promise_base& c) noexcept {
    std::size_t expected = none;
    return awaited_object<race_block>(c).m_winner.compare_exchange_strong(expected, interrupted);
  }

 private:
  struct entry : callback {
    race_block* block = nullptr;
    state_base* input = nullptr;
    bool subscribed = false;  // written by the suspending thread, read after resumption
  };

  bool claim(std::size_t index) noexcept {
    std::size_t expected = none;
    return m_winner.compare_exchange_strong(expected, index, std::memory_order_acq_rel);
  }

  static void on_ready(callback& c) noexcept {
    auto& e = static_cast<entry&>(c);
    race_block& self = *e.block;
    const auto index = static_cast<std::size_t>(&e - self.m_entries.data());
    self.end(index);
    self.drop();
  }

  void end(std::size_t winner) noexcept {
    if (claim(winner) && meet()) schedule(*m_waiting);
  }

  void drop() noexcept {
    if (m_references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::vector<entry> m_entries;
  promise_base* m_waiting = nullptr;
  std::atomic<std::size_t> m_winner{none};  // set by the first claim, then constant
  std::atomic<bool> m_met{false};           // set at the end of the suspension and by the winner
  std::atomic<std::size_t> m_references{1};
};

class race_awaiter {
 public:
  explicit race_awaiter(std::span<state_base* const> inputs, std::stop_token stop = {})
      : m_block(new race_block(inputs)), m_stop(std::move(stop)) {}

  bool await_ready() const noexcept { return false; }

  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h,
                     const detail::call_location& at = {}) noexcept {
    race_block& block = *m_block;
    mark_suspended(h.promise(), await_kind::join, &block, &race_block::withdraw_waiter, at);
    if (!block.subscribe(h.promise())) return confirm_suspended(h.promise(), false);
    if (m_stop.stop_possible()) m_on_stop.emplace(std::move(m_stop), canceller<race_block>{&block});
    return confirm_suspended(h.promise(), !block.meet());
  }

  /// Returns the index of the input that was ready first. @throws operation_cancelled, hang_error
  std::size_t await_resume() {
    m_on_stop.reset();  // waits while `cancel` runs on another thread
    const std::size_t winner = m_block->finish();
    if (winner == race_block::cancelled) throw operation_cancelled();
    if (winner == race_block::interrupted) throw_interrupted();
    return winner;
  }

 private:
  race_block* m_block;  // freed by the last reference: `finish` or a notification
  std::stop_token m_stop;
  std::optional<std::stop_callback<canceller<race_block>>> m_on_stop;
};

}  // namespace starling::detail
