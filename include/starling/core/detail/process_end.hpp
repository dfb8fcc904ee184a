// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// How the process ends, arranged once, by the first options or the first runtime:
///
/// - An `error` that leaves a thread that is no worker, such as one that `main` does not catch, and
///   any exception of a run that `note_thrown_error` has named, is printed as
///   "starling: <message>" and ends the process with exit code 2 for an `option_error` and 1 for
///   others; buffered output is written first. A terminate handler does this; one that the program
///   has set is left alone, and all other exceptions end as they would without it.
/// - Output that could not be written (a full disk) makes the exit code 1: `exit` looks.
void prepare_process_end() noexcept;

/// From now on the process does not end with exit code 0: something that was asked for is missing,
/// and stderr has said what. Any thread.
void fail_exit_code() noexcept;

/// The calling thread is about to pass on the exception that it handles, which ended a run: should
/// the program not catch it, it is printed although it may be of a type of the program.
/// `is_printed`: stderr has it already, so that it is not printed again.
void note_thrown_error(bool is_printed = false) noexcept;

}  // namespace starling::detail
