// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace stars {

inline void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

}  // namespace stars
