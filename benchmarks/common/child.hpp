// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace starling::bench {

/// A started program and its captured output, with that of the processes that it starts.
class child {
 public:
  enum class heard { output, errors_too };

  /// Starts a program. `line`: its path and its arguments. @throws std::system_error
  explicit child(std::vector<std::string> line, heard what = heard::output) {
    std::vector<char*> arguments;
    for (std::string& word : line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (what == heard::errors_too)
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int failed =
        posix_spawn(&m_pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    m_output = ends[0];
    if (failed == 0) return;
    close(m_output);
    throw std::system_error(failed, std::generic_category(), line.front());
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  /// Ends the program if it has not been waited for.
  ~child() {
    close(m_output);
    if (m_pid == 0) return;
    kill(m_pid, SIGTERM);
    waitpid(m_pid, nullptr, 0);
  }

  /// Reads until a whole line begins with `text` and returns the rest of the line; empty if the
  /// output ended before that.
  std::string line_behind(const std::string& text) {
    for (std::size_t begin = 0;;) {
      const std::size_t end = m_said.find('\n', begin);
      if (end == std::string::npos) {
        if (!read_some()) return {};
      } else if (m_said.compare(begin, text.size(), text) == 0) {
        return m_said.substr(begin + text.size(), end - begin - text.size());
      } else {
        begin = end + 1;
      }
    }
  }
  /// Reads until no process can write more, and returns the whole output. `code`: the exit code or,
  /// as in a shell, 128 plus the number of the signal that ended the program.
  std::string finish(int& code) {
    while (read_some()) {
    }
    int status = 0;
    if (waitpid(std::exchange(m_pid, 0), &status, 0) < 0)
      throw std::system_error(errno, std::generic_category(), "waitpid");
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return m_said;
  }

 private:
  bool read_some() {
    char block[4096];
    const ssize_t n = read(m_output, block, sizeof block);
    if (n > 0) m_said.append(block, std::size_t(n));
    return n > 0;
  }

  pid_t m_pid = 0;
  int m_output = -1;
  std::string m_said;
};

}  // namespace starling::bench
