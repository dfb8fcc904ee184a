// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <starling/device/device.hpp>

namespace apps {

/// Lets every device reach the memory of every other: what another device lends is then read in
/// place, and copies take the shortest way. True: all can; trivially for one device.
inline bool connect_devices(starling::device_set& all) {
  bool connected = true;
  for (std::size_t i = 0; i < all.count(); ++i)
    for (std::size_t j = 0; j < all.count(); ++j)
      if (i != j) connected = all.device(i).enable_peer_access(all.device(j)) && connected;
  return connected;
}

}  // namespace apps
