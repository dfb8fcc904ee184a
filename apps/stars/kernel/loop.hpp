// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a kernel by plain loops: the reference, and the way to run small work on the host.
#pragma once

#include "kernel/lanes_simd.hpp"
#include "mesh/subgrid.hpp"

namespace stars {

using host_vector = std::experimental::native_simd<double>;
static_assert(host_vector::size() <= 8, "a row of cells must hold a vector");

/// An index in the form that kernels take.
struct loop_index {
  int x, y, z;
};

template <class Kernel>
concept has_lanes = requires(const Kernel& k, loop_index i) {
  k.template lanes<host_vector>(i);
};

/// Runs a kernel for every index of its range in order, in vectors if the kernel supports them and
/// `vectors` is true. Both ways give the same bits.
template <class Kernel>
void run_loop(const Kernel& kernel, bool vectors = true) {
  const extent r = kernel.range();
  constexpr int lanes = static_cast<int>(host_vector::size());
  for (int z = 0; z < r.z; ++z) {
    for (int y = 0; y < r.y; ++y) {
      int x = 0;
      if constexpr (has_lanes<Kernel>) {
        const int whole = vectors ? r.x / lanes : 0;
        for (int k = 0; k < whole; ++k) {
          kernel.template lanes<host_vector>(loop_index{k * lanes, y, z});
        }
        x = whole * lanes;
      }
      for (; x < r.x; ++x) kernel(loop_index{x, y, z});
    }
  }
}

}  // namespace stars
