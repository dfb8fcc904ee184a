// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <starling/device/interop/kokkos.hpp>

/// Kokkos lives as long as the program, as in a program of Kokkos' users.
int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
