// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <starling/core.hpp>
#include <starling/device.hpp>

namespace apps::test {

/// Returns why devices of the backend that `options` selects are unavailable, or no value if they
/// are available.
inline std::optional<std::string> reason_to_skip(const starling::runtime_options& options) {
  try {
    starling::runtime rt(options);
    static_cast<void>(starling::devices(rt));
  } catch (const starling::backend_unavailable& e) {
    return e.what();
  }
  return std::nullopt;
}

}  // namespace apps::test
