// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <vector>

namespace messages {

/// Processes that have nothing to do with ours and keep a core busy each, wherever the system puts
/// them, for as long as this object lives. They end with the process that made them, too.
class strangers {
 public:
  explicit strangers(int count) {
    for (int i = 0; i < count; ++i) m_processes.push_back(start());
  }
  strangers(const strangers&) = delete;
  strangers& operator=(const strangers&) = delete;
  ~strangers() {
    for (const pid_t p : m_processes) kill(p, SIGKILL);
    for (const pid_t p : m_processes) waitpid(p, nullptr, 0);
  }

 private:
  /// Nothing of the parent's memory is used after the fork: it may have threads and locks.
  static pid_t start() {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    for (;;) asm volatile("");
  }

  std::vector<pid_t> m_processes;
};

}  // namespace messages
