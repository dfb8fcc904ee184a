// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/types.hpp>

/// Kernel: y ← a·x + y, on any device.
struct axpy {
  static constexpr const char* name = "axpy";
  double a;
  const double* x;
  double* y;
  constexpr void operator()(starling::index3 i) const { y[i.x] += a * x[i.x]; }
};
