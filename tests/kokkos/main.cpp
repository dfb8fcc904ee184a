// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/kokkos.hpp>

#include "support/run_all.hpp"

/// Kokkos is initialized during the whole program, as in programs of Kokkos' users.
int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  return starling_test::run_all(argc, argv);
}
