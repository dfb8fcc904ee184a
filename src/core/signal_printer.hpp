// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

namespace starling::detail {

/// Prints the list of suspended coroutines on SIGQUIT. The signal handler only writes to a pipe; a
/// thread, asleep in read, does the printing. Calls are ordered by the caller.
class signal_printer {
 public:
  /// Installs the handler, unless the program has one of its own. Where the system refuses a pipe
  /// or thread, stderr says so, and SIGQUIT keeps its meaning.
  void start() noexcept;
  /// Answers the signals that came before, and gives SIGQUIT its meaning back.
  void stop() noexcept;
  /// In the child of a fork, where the thread is not there: SIGQUIT has its meaning back.
  void leave_in_child() noexcept;

 private:
  std::thread m_thread;
};

}  // namespace starling::detail
