// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// Bounded symmetric transfer: coroutines that continue each other within one dispatch of a worker.
/// The bound keeps the stack small if the compiler does not turn the transfers into jumps.
class transfer_chain {
 public:
  /// Makes `extend` refuse each transfer, so that all take the slow path, which traces or
  /// measures them or chooses by chance (chaos mode).
  void refuse_all() noexcept { m_limit = 0; }

  /// Ends the effect of `refuse_all`.
  void accept_again() noexcept { m_limit = max_depth; }

  /// Begins a chain with the coroutine that is dispatched.
  void begin() noexcept { m_transfers += std::exchange(m_depth, 0); }
  /// Counts a transfer. False: it needs the slow path.
  [[nodiscard]] bool extend() noexcept { return ++m_depth <= m_limit; }
  /// Returns whether `extend` refused a transfer that is within the bound.
  [[nodiscard]] bool is_short() const noexcept { return m_limit == 0 && m_depth <= max_depth; }

  /// Ends the chain: `c` is dispatched next. Returns the coroutine that it displaces, or null.
  [[nodiscard]] promise_base* cut(promise_base& c) noexcept { return std::exchange(m_next, &c); }
  /// Returns the coroutine that was cut off, or null, and forgets it.
  [[nodiscard]] promise_base* take_next() noexcept { return std::exchange(m_next, nullptr); }
  /// Returns the number of transfers since the last call.
  [[nodiscard]] std::uint32_t take_count() noexcept { return std::exchange(m_transfers, 0); }

 private:
  static constexpr unsigned max_depth = 32;
  promise_base* m_next = nullptr;
  unsigned m_depth = 0;
  unsigned m_limit = max_depth;
  std::uint32_t m_transfers = 0;
};

}  // namespace starling::detail
