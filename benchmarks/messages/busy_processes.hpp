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

/// Unrelated processes that keep one core busy each, wherever the system places them, during the
/// lifetime of this object. They also end with the process that started them.
class busy_processes {
 public:
  explicit busy_processes(int count) {
    for (int i = 0; i < count; ++i) m_processes.push_back(start());
  }
  busy_processes(const busy_processes&) = delete;
  busy_processes& operator=(const busy_processes&) = delete;
  ~busy_processes() {
    for (const pid_t p : m_processes) kill(p, SIGKILL);
    for (const pid_t p : m_processes) waitpid(p, nullptr, 0);
  }

 private:
  /// Starts a process, which uses no memory of its parent: the parent may have threads and locks.
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
