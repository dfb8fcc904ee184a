// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace starling::resident {

/// The report about a resident program that has ended.
struct end_report {
  std::uint64_t messages = 0;  ///< sent; a broadcast counts once for each scheduler
  std::uint64_t left = 0;      ///< of these, dropped by `stop`
  std::uint64_t entries_run = 0;
};

}  // namespace starling::resident
