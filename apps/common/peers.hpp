// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <starling/device/device.hpp>

namespace apps {

/// Gives each device access to the memory of every other device. Lent memory of a peer device is
/// then read in place, and copies take the shortest path. Returns whether all pairs are connected;
/// true for a single device.
inline bool connect_devices(starling::device_set& all) {
  bool connected = true;
  for (std::size_t i = 0; i < all.count(); ++i)
    for (std::size_t j = 0; j < all.count(); ++j)
      if (i != j) connected = all.device(i).enable_peer_access(all.device(j)) && connected;
  return connected;
}

}  // namespace apps
