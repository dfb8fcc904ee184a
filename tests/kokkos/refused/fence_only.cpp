// SPDX-License-Identifier: Apache-2.0
// Must not compile unless STARLING_MAY_BLOCK is defined: blocking waits must be requested.
#include <starling/device/interop/kokkos.hpp>

struct only_fences {
  void fence() const {}
};

int main() {
#ifdef STARLING_MAY_BLOCK
  static_cast<void>(starling::kokkos::get_future(starling::kokkos::may_block, only_fences()));
#else
  static_cast<void>(starling::kokkos::get_future(only_fences()));
#endif
}
