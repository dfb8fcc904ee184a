// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace starling_test {

/// Returns the property of this machine, build or test parameter that excuses a skip for `reason`,
/// the text behind GTEST_SKIP; null: none, the skip is a failure.
[[nodiscard]] const char* excuse_of(std::string_view reason);

}  // namespace starling_test
