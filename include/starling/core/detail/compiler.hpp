// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace starling::detail {

/// True for Clang (16 at least), which may compute the address of a thread-local variable once for
/// a whole coroutine, although the coroutine may continue on another thread after a suspension.
/// With such a compiler, functions that can be inlined into a coroutine access a thread-local
/// variable only through a call that is not inlined.
inline constexpr bool keeps_thread_local_addresses =
    std::string_view(__VERSION__).find("Clang") != std::string_view::npos;

/// Whether checks for misuse that cost time are compiled: in the same builds as `assert`.
#ifdef NDEBUG
constexpr bool looks_for_misuse = false;
#else
constexpr bool looks_for_misuse = true;
#endif

}  // namespace starling::detail
