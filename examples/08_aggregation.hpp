// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/kernel.hpp>

/// Kernel: x[i] = x[i]² − shift, one step of an iteration on a block of numbers.
struct square_minus {
  double* x;
  double shift;
  constexpr void operator()(starling::index3 i) const { x[i.x] = x[i.x] * x[i.x] - shift; }
};
