// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Installs the handlers of the process's end, once, at the first options or the first runtime:
///
/// - An uncaught `error` on a thread other than a worker, and any uncaught exception that
///   `note_thrown_error` has recorded, is printed as "starling: <message>" and ends the process
///   with exit code 2 for an `option_error`, else 1; buffered output is written first. This is done
///   by a terminate handler. If the program has set a terminate handler, that one is kept instead.
///   Other exceptions end the process as without the handler.
/// - Standard output that could not be written (a full disk) makes the exit code 1, by `on_exit`.
void prepare_process_end() noexcept;

/// Replaces exit code 0 of the process by 1: a requested output is missing, and a message about it
/// was printed on stderr. Any thread.
void fail_exit_code() noexcept;

/// Records the exception that the calling thread handles, which ended a run and is about to be
/// rethrown. If the program does not catch the exception, its text is printed even if its type is
/// one of the program's own. `is_printed`: the text was printed on stderr before, and is not
/// printed again.
void note_thrown_error(bool is_printed = false) noexcept;

}  // namespace starling::detail
