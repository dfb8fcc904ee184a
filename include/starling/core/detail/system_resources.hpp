// SPDX-License-Identifier: Apache-2.0
// Creation of threads and descriptors, which the operating system may refuse.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

namespace starling::detail {

/// Starts a helper thread of the runtime. It runs no user code and blocks all signals, which the
/// program's threads handle. (Workers run user code and keep the mask of the thread that makes the
/// runtime.) `name` has at most 15 characters and is shown by debuggers.
/// @throws resource_error naming the thread
[[nodiscard]] std::thread start_helper_thread(const char* name, std::function<void()> body);

/// Throws resource_error: the system granted `got` of `asked` threads for `purpose` and failed with
/// `code` (errno). `remedy` completes the sentence "raise these limits, or …" in the message;
/// empty: no such sentence.
[[noreturn]] void throw_no_thread(const std::string& purpose, std::size_t got, std::size_t asked,
                                  const std::string& remedy, int code);

/// Throws resource_error: the system refused the descriptor for `purpose` with `code` (errno).
[[noreturn]] void throw_no_descriptor(const std::string& purpose, int code);

/// Creates a counting, pollable descriptor (`eventfd`), closed on exec, not blocking.
/// @throws resource_error naming `purpose`
[[nodiscard]] int make_event_descriptor(const char* purpose);

}  // namespace starling::detail
