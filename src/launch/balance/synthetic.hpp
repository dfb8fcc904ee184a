// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <starling/objects/balance/snapshot.hpp>

namespace starling::launch {

/// Loads that `starling balance` makes up: elements on the places of a cube, in blocks over the
/// workers, with edges to the next places along each axis.
struct synthetic {
  std::uint32_t elements = 100'000;
  std::uint32_t ranks = 100;
  std::uint32_t workers = 1;  ///< of each rank
  std::uint32_t devices = 0;  ///< of each rank; shared by its workers
  std::string pattern = "hotspot";
  std::uint64_t seed = 1;
};

/// Reads `name=value,name=value…`. @throws balance_error for an unknown name or a wrong value
[[nodiscard]] synthetic parse_synthetic(std::string_view text);

/// Makes the loads: the same for the same arguments. Patterns of the host load: `uniform` (equal),
/// `random` (0 to twice the mean), `hotspot` (eight times as heavy in a sphere around a corner),
/// `gradient` (linear along x), `front` (heavy in a layer across x), `opposing` (host load falls
/// along x, device load rises). Device loads, if there are devices, have the same pattern, mirrored
/// along x.
[[nodiscard]] balance::snapshot make_loads(const synthetic& chosen);

}  // namespace starling::launch
