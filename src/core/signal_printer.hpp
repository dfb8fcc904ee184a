// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

namespace starling::detail {

/// Prints the list of suspended coroutines on SIGQUIT. The signal handler only writes to a pipe; a
/// thread that sleeps in read prints the list. The caller serialises the calls.
class signal_printer {
 public:
  /// Installs the handler, unless the program has its own. If the system refuses a pipe or thread,
  /// prints that on stderr and keeps SIGQUIT's default action.
  void start() noexcept;
  /// Prints the lists of earlier signals, and restores SIGQUIT's default action.
  void stop() noexcept;
  /// Restores SIGQUIT's default action in the child of a fork, which does not have the thread.
  void leave_in_child() noexcept;

 private:
  std::thread m_thread;
};

}  // namespace starling::detail
