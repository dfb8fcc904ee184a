// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of a Kokkos with HIP as must be seen to refuse it.
namespace Kokkos {
struct HostSpace {};
struct HIP {};
using DefaultExecutionSpace = HIP;
template <class, class>
struct SpaceAccessibility {
  static constexpr bool accessible = false;
};
}  // namespace Kokkos
