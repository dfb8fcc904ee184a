// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <starling/device/kernel.hpp>

namespace starling::sycl {

/// The build's definitions for a file that includes this header; evaluated by each compiler run.
constexpr std::array<int, 4> facts() {
  return {FACT_OF_LIBRARY, FACT_OF_TARGET, FACT_OF_LANGUAGE, sizeof FACT_WITH_BLANKS};
}

struct list_facts {
  int* a;
  constexpr void operator()(index3) const {
    int i = 0;
    for (const int fact : facts()) a[i++] = fact;
  }
};

}  // namespace starling::sycl
