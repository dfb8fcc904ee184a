// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling {

/// Distribution of elements over the workers of all ranks, which are numbered from rank 0 on.
enum class placement : std::uint8_t {
  block,       ///< contiguous element numbers on each worker, in blocks of nearly equal size
  round_robin  ///< element number modulo number of workers
};

namespace detail {

__extension__ typedef unsigned __int128 uint128;  // NOLINT: `using` would not silence -Wpedantic

/// Computes n · factor / divisor, rounded down, with two multiplications; n, factor and divisor are
/// below 2³². Exact: the reciprocal is rounded up, which makes the product too large by less than
/// 2⁻³², and the fraction of the true quotient is at most 1 − 2⁻³².
class scaled_quotient {
 public:
  constexpr scaled_quotient(std::uint64_t factor, std::uint64_t divisor) noexcept
      : m_whole(factor / divisor),
        m_rest(std::uint64_t((uint128(factor % divisor) << 64) / divisor) + 1) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t n) const noexcept {
    return n * m_whole + std::uint64_t((uint128(n) * m_rest) >> 64);
  }

 private:
  std::uint64_t m_whole;
  std::uint64_t m_rest;  // (factor modulo divisor) / divisor in units of 2⁻⁶⁴, rounded up
};

/// The parameters of a placement. There are at least one and fewer than 2³² elements.
struct placement_rule {
  placement how = placement::block;
  std::uint64_t workers = 1;
  std::uint64_t elements = 1;
};

/// The mapping between elements and workers under a placement rule. The functions that are called
/// for each message or element need no division.
class spread {
 public:
  constexpr explicit spread(const placement_rule& rule) noexcept
      : m_rule(rule), m_quotient(is_block() ? scaled_quotient(rule.workers, rule.elements)
                                            : scaled_quotient(1, rule.workers)) {}

  [[nodiscard]] constexpr std::size_t worker_of(std::uint64_t number) const noexcept {
    return is_block() ? m_quotient(number) : number - m_quotient(number) * m_rule.workers;
  }
  /// Returns the number of the worker's first element; for blocks, that is the number of elements
  /// on the workers before it.
  [[nodiscard]] constexpr std::uint64_t first(std::uint64_t worker) const noexcept {
    return is_block() ? (worker * m_rule.elements + m_rule.workers - 1) / m_rule.workers : worker;
  }
  [[nodiscard]] constexpr std::size_t count(std::uint64_t worker) const noexcept {
    if (is_block()) return first(worker + 1) - first(worker);
    return worker < m_rule.elements ? (m_rule.elements - 1 - worker) / m_rule.workers + 1 : 0;
  }
  /// Returns the number of the `i`th element of the worker whose first element has the number
  /// `first`; `position_of` is the inverse.
  [[nodiscard]] constexpr std::uint64_t number_of(std::uint64_t first,
                                                  std::size_t i) const noexcept {
    return first + (is_block() ? i : i * m_rule.workers);
  }
  [[nodiscard]] constexpr std::size_t position_of(std::uint64_t first,
                                                  std::uint64_t number) const noexcept {
    return is_block() ? number - first : m_quotient(number);
  }

 private:
  [[nodiscard]] constexpr bool is_block() const noexcept { return m_rule.how == placement::block; }

  placement_rule m_rule;
  scaled_quotient m_quotient;
};

}  // namespace detail
}  // namespace starling
