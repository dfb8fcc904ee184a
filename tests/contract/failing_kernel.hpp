// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <starling/device/kernel.hpp>

namespace starling::contract {

/// Fails at one index, as host code can. A GPU kernel that faults makes the device unusable; that
/// is tested in a separate process.
struct fails_at {
  static constexpr const char* name = "fails_at";
  int bad;
  void operator()(index3 i) const {
    if (i.x == bad) throw std::runtime_error("index " + std::to_string(i.x) + " is cursed");
  }
};

/// Fails on the host if `bad`, else counts.
struct fails_if {
  static constexpr const char* name = "fails_if";
  std::uint64_t* a;
  bool bad;
  void operator()(index3 i) const {
    if (bad) throw std::runtime_error("member is cursed");
    a[i.x] += 1;
  }
};

}  // namespace starling::contract
