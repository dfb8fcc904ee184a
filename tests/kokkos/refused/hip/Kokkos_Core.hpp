// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The declarations of a Kokkos with HIP that the backend checks in order to reject it.
namespace Kokkos {
struct HostSpace {};
struct HIP {};
using DefaultExecutionSpace = HIP;
template <class, class>
struct SpaceAccessibility {
  static constexpr bool accessible = false;
};
}  // namespace Kokkos
