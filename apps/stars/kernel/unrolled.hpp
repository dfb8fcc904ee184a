// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops with a constant number of iterations.
#pragma once

#include <type_traits>
#include <utility>

namespace stars {

/// Calls f(k) for k = First … End - 1, each a constant. Compilers do not unroll such loops by
/// themselves if their body is long. Lambdas should be `__attribute__((always_inline))`.
template <int First, int End, class F>
[[gnu::always_inline]] constexpr void unrolled(F f) {
  [&]<int... K>(std::integer_sequence<int, K...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, First + K>()), ...);
  }
  (std::make_integer_sequence<int, End - First>());
}

}  // namespace stars
