// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <starling/core/error.hpp>

namespace apps {

/// Returns the result of `make()`. The physics code has no options, but its error texts begin with
/// the name of the option at fault; this function adds the dashes.
/// @throws starling::option_error in place of std::invalid_argument
template <class Make>
auto by_options(Make make) {
  try {
    return make();
  } catch (const std::invalid_argument& e) {
    throw starling::option_error(std::string("--") + e.what());
  }
}

}  // namespace apps
