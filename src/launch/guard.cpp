// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <starling/net/bootstrap.hpp>

#include "private_folder.hpp"
#include "shared_memory_folder.hpp"

namespace starling::launch {
namespace {

constexpr useconds_t look_interval = 5000;
/// Bounds the wait: killed processes that no parent waits for stay in their group as zombies.
constexpr int most_looks = 400;

/// Closes all file descriptors except 0.
void close_all_but_input() {
  if (::close_range(1, ~0U, 0) == 0) return;
  // Old kernel or system-call filter. Bounded, because the limit may be as high as 10^9.
  constexpr long most = 1L << 16;
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const int end = static_cast<int>(limit > 0 && limit < most ? limit : most);
  for (int fd = 1; fd < end; ++fd) ::close(fd);
}

}  // namespace

guard::guard(std::string private_folder, std::string shared_memory_folder, int ranks)
    : m_private(std::move(private_folder)), m_shared(std::move(shared_memory_folder)),
      m_size(static_cast<std::size_t>(ranks)) {
  void* shared = ::mmap(nullptr, m_size * sizeof(group_list), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2] = {-1, -1};
  if (shared == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0) {
    throw bootstrap_error(fmt::format("no memory or pipe to share: {}", std::strerror(errno)));
  }
  m_groups = static_cast<group_list*>(shared);
  for (std::size_t i = 0; i < m_size; ++i) new (m_groups + i) group_list(0);
  m_alive.reset(ends[1]);
  m_pid = ::fork();
  if (m_pid == 0) watch(ends[0]);
  ::close(ends[0]);
  if (m_pid < 0) {
    throw bootstrap_error(fmt::format("no process can be started: {}", std::strerror(errno)));
  }
}

guard::~guard() {
  m_alive.reset();
  while (::waitpid(m_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(m_groups, m_size * sizeof(group_list));
}

void guard::set_group(int rank, pid_t group) noexcept {
  // Relaxed: the guard process reads after the pipe is closed, which orders store before load.
  m_groups[rank].store(group, std::memory_order_relaxed);
}

void guard::watch(int pipe) noexcept {
  // Own session: signals to the launcher's group must not reach this process. It must also keep
  // none of the launcher's files open.
  ::setsid();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "starling-guard");
  // An open copy of the write end would hide the end of the launcher.
  m_alive.reset();
  ::dup2(pipe, 0);
  close_all_but_input();
  char nothing = 0;
  while (::read(0, &nothing, 1) < 0 && errno == EINTR) {
  }
  end_groups();
  private_folder::remove(m_private);
  ::_exit(0);
}

/// Kills the registered groups and removes their shared memory. A process of a group may make a
/// file until it is dead, which this process, not being its parent, can only see by looking.
void guard::end_groups() noexcept {
  for (std::size_t i = 0; i < m_size; ++i) {
    const pid_t group = m_groups[i].load(std::memory_order_relaxed);
    if (group > 0) ::kill(-group, SIGKILL);
  }
  for (int looks = 0; any_group_lives() && looks < most_looks; ++looks) ::usleep(look_interval);
  shared_memory_folder::remove(m_shared);
}

bool guard::any_group_lives() const noexcept {
  for (std::size_t i = 0; i < m_size; ++i) {
    const pid_t group = m_groups[i].load(std::memory_order_relaxed);
    if (group > 0 && ::kill(-group, 0) == 0) return true;
  }
  return false;
}

}  // namespace starling::launch
