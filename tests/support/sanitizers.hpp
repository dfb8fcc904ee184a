// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling_test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

}  // namespace starling_test
