// SPDX-License-Identifier: Apache-2.0
//
// Two processes of one program, for benchmarks between ranks of a host.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace osu {

/// This process and a copy of it, made by `fork` before there are threads. The copy ends with its
/// original.
class pair {
 public:
  pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    m_child = fork();
    if (m_child < 0) fail("fork");
    m_rank = m_child == 0 ? 1 : 0;
    m_socket = ends[m_rank];
    close(ends[1 - m_rank]);
    if (m_rank == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;
  ~pair() { close(m_socket); }

  [[nodiscard]] int rank() const noexcept { return m_rank; }
  /// Sends `mine` to the peer; returns the values of both, by rank.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) const {
    const std::uint64_t bytes = mine.size();
    put(&bytes, sizeof bytes);
    put(mine.data(), mine.size());
    std::uint64_t others = 0;
    get(&others, sizeof others);
    std::string theirs(others, '\0');
    get(theirs.data(), theirs.size());
    return m_rank == 0 ? std::vector{mine, theirs} : std::vector{theirs, mine};
  }
  /// Waits, in the original, for the end of its copy. Returns whether the copy ended well.
  [[nodiscard]] bool join() const {
    int status = 0;
    if (waitpid(m_child, &status, 0) != m_child) fail("waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  }

 private:
  [[noreturn]] static void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
  }
  void put(const void* data, std::size_t bytes) const {
    const char* p = static_cast<const char*>(data);
    while (bytes != 0) {
      const ssize_t n = send(m_socket, p, bytes, MSG_NOSIGNAL);
      if (n < 0) fail("send");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  void get(void* data, std::size_t bytes) const {
    char* p = static_cast<char*>(data);
    while (bytes != 0) {
      const ssize_t n = recv(m_socket, p, bytes, 0);
      if (n < 0) fail("recv");
      if (n == 0) throw std::runtime_error("the other process has ended");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }

  pid_t m_child = 0;
  int m_rank = 0;
  int m_socket = -1;
};

}  // namespace osu
