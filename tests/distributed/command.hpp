// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch_folder.hpp"

/// Starts programs as a shell does and captures their output.
namespace distributed {

struct outcome {
  int code = 0;    ///< -1 if a signal ended it
  int signal = 0;  ///< or 0
  std::string output;
  std::string errors;
};

using variables = std::vector<std::pair<std::string, std::string>>;

/// A started program. Its output ends when it and all processes that it started have ended.
class command {
 public:
  explicit command(std::vector<std::string> line, const variables& environment = {},
                   const std::string& input = "") {
    int out[2];
    int err[2];
    int in[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0 ||
        ::pipe2(in, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2");
    }
    std::vector<char*> arguments;
    for (std::string& word : line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    m_pid = ::fork();
    if (m_pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      // The process that started the tests may ignore these signals, and exec preserves that.
      for (const int number : {SIGHUP, SIGINT, SIGQUIT}) std::signal(number, SIG_DFL);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    (void)!::write(in[1], input.data(), input.size());
    for (const int end : {in[0], in[1], out[1], err[1]}) ::close(end);
    m_fds[0] = out[0];
    m_fds[1] = err[0];
  }
  command(const command&) = delete;
  command& operator=(const command&) = delete;
  /// Kills the program if it has not been waited for.
  ~command() {
    if (m_pid > 0) {
      ::kill(m_pid, SIGKILL);
      wait();
    }
    for (const int fd : m_fds) {
      if (fd >= 0) ::close(fd);
    }
  }

  [[nodiscard]] pid_t pid() const { return m_pid; }
  void signal(int number) const {
    if (m_pid > 0) ::kill(m_pid, number);
  }

  /// Waits until the program is stopped; false if it has ended instead.
  [[nodiscard]] bool wait_until_stopped() const {
    int status = 0;
    while (::waitpid(m_pid, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    return WIFSTOPPED(status);
  }

  /// Reads until `text` has been printed `times` times on stdout; false if the output ends first.
  bool wait_for(const std::string& text, int times) {
    for (;;) {
      int found = 0;
      for (std::size_t at = 0; (at = m_result.output.find(text, at)) != std::string::npos; ++at) {
        ++found;
      }
      if (found >= times) return true;
      if (!read_some()) return false;
    }
  }

  /// Returns the output read so far.
  [[nodiscard]] const std::string& output() const { return m_result.output; }

  /// Reads the remaining output and waits for the end of the program.
  outcome finish() {
    while (read_some()) {
    }
    const int status = wait();
    m_result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    m_result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return m_result;
  }

 private:
  int wait() {
    int status = 0;
    while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
    }
    m_pid = 0;
    return status;
  }
  bool read_some() {
    pollfd polled[2] = {{m_fds[0], POLLIN, 0}, {m_fds[1], POLLIN, 0}};
    if (m_fds[0] < 0 && m_fds[1] < 0) return false;
    if (::poll(polled, 2, -1) < 0) return errno == EINTR;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].revents == 0) continue;
      char block[1 << 14];
      const ssize_t count = ::read(m_fds[i], block, sizeof block);
      if (count > 0) {
        (i == 0 ? m_result.output : m_result.errors).append(block, static_cast<std::size_t>(count));
      } else if (count == 0) {
        ::close(std::exchange(m_fds[i], -1));
      }
    }
    return true;
  }

  pid_t m_pid = 0;
  int m_fds[2] = {-1, -1};
  outcome m_result;
};

inline outcome run(std::vector<std::string> line, const variables& environment = {},
                   const std::string& input = "") {
  return command(std::move(line), environment, input).finish();
}

/// Returns the command line `starling launch -n N … program deed…`.
inline std::vector<std::string> launch(int ranks, std::vector<std::string> deed,
                                       std::vector<std::string> options = {}) {
  std::vector<std::string> line = {STARLING_COMMAND, "launch", "-n", std::to_string(ranks)};
  line.insert(line.end(), options.begin(), options.end());
  line.emplace_back(RANK_PROGRAM);
  line.insert(line.end(), deed.begin(), deed.end());
  return line;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace distributed

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(distributed::contains(text, part)) << text
