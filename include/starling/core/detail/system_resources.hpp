// SPDX-License-Identifier: Apache-2.0
// Threads and descriptors of the operating system, which may refuse them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace starling::detail {

/// Starts a thread of the runtime's own. It runs no user code and blocks all signals, which are for
/// the threads of the program. (Workers run user code and keep the mask of the thread that makes
/// the runtime.) `name` has at most 15 characters and shows in debuggers.
/// @throws resource_error naming the thread
[[nodiscard]] std::thread start_helper_thread(const char* name, std::function<void()> body);

/// Throws resource_error: of `asked` threads for `purpose` the system gave `got`; `code` is what it
/// said. `remedy` ends the sentence "raise these limits, or …"; empty: there is none.
[[noreturn]] void throw_no_thread(const std::string& purpose, std::size_t got, std::size_t asked,
                                  const std::string& remedy, int code);

/// Throws resource_error: the system refused the descriptor for `purpose` with `code` (errno).
[[noreturn]] void throw_no_descriptor(const std::string& purpose, int code);

/// A descriptor that counts and can be polled (`eventfd`), closed on exec, not blocking.
/// @throws resource_error naming `purpose`
[[nodiscard]] int make_event_descriptor(const char* purpose);

}  // namespace starling::detail
