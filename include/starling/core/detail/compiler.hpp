// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace starling::detail {

/// Clang (16 at least) may compute the address of a thread-local variable once for a whole
/// coroutine, although the coroutine goes on in another thread after a suspension. There, what can
/// be inlined into a coroutine reaches a thread-local only through a call that is not inlined.
inline constexpr bool keeps_thread_local_addresses =
    std::string_view(__VERSION__).find("Clang") != std::string_view::npos;

/// Whether misuse is looked for that cannot be seen for nothing: where `assert` is, too.
#ifdef NDEBUG
constexpr bool looks_for_misuse = false;
#else
constexpr bool looks_for_misuse = true;
#endif

}  // namespace starling::detail
