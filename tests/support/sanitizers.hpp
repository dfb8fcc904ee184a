// SPDX-License-Identifier: Apache-2.0
// The sanitizers with which this file is compiled. GCC defines macros for them, Clang features.
#pragma once

#ifndef __has_feature
#  define __has_feature(name) 0
#endif

namespace starling_test {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

}  // namespace starling_test
