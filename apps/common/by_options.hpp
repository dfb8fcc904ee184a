// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <starling/core/error.hpp>

namespace apps {

/// What `make` makes. The science knows no options, but what it refuses starts with the name of
/// one.
/// @throws starling::option_error for std::invalid_argument
template <class Make>
auto by_options(Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& e) {
    throw starling::option_error(std::string("--") + e.what());
  }
}

}  // namespace apps
