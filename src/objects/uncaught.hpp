// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Sets the terminate handler that does what follows, once in a program. Before anything is thrown:
/// an exception keeps the handler that there is then.
void watch_uncaught_errors() noexcept;
/// The calling thread is about to pass on the exception that it handles: if no `catch` of the
/// program takes it, the program ends with one line on stderr, what is buffered written, and
/// status 1. Without this it would end with `terminate called …` and a signal.
void note_thrown_error() noexcept;
/// The same error has been told before, so that the line is not written again.
void note_told_error() noexcept;

/// Calls `f()` and notes what it throws.
template <class F>
auto end_program_if_uncaught(F f) {
  watch_uncaught_errors();
  try {
    return f();
  } catch (...) {
    note_thrown_error();
    throw;
  }
}

}  // namespace starling::detail
