// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace starling_test {

/// Returns the property of this machine, build or test parameter that excuses a skip, or null if
/// the skip is a failure. `reason` is the text passed to GTEST_SKIP.
[[nodiscard]] const char* excuse_of(std::string_view reason);

}  // namespace starling_test
