// SPDX-License-Identifier: Apache-2.0
#include "signal_printer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <utility>

#include <starling/core/detail/system_resources.hpp>

#include "diagnosis.hpp"

namespace starling::detail {
namespace {

constexpr char print = 'p', end = 's';

// The pipe is never closed: the signal handler may still run when the last runtime ends.
int s_pipe[2] = {-1, -1};

void request(char what) noexcept {
  while (::write(s_pipe[1], &what, 1) < 0 && errno == EINTR) {
  }
}

void on_signal(int) {
  const int saved = errno;
  request(print);
  errno = saved;
}

/// Returns the handler of SIGQUIT; SIG_ERR if it is unknown.
auto handler() noexcept {
  struct sigaction current {};
  return ::sigaction(SIGQUIT, nullptr, &current) == 0 ? current.sa_handler : SIG_ERR;
}

/// Waits for the next request. A debugger that attaches may interrupt the read.
char next_request() noexcept {
  char what = end;
  while (::read(s_pipe[0], &what, 1) < 0 && errno == EINTR) {
  }
  return what;
}

void loop() noexcept {
  while (next_request() == print) runtime_registry::instance().print_awaiters();
}

}  // namespace

void signal_printer::start() noexcept {
  if (handler() != SIG_DFL) return;
  try {
    if (s_pipe[1] < 0 && ::pipe2(s_pipe, O_CLOEXEC) != 0)
      throw_no_descriptor("the list on SIGQUIT", errno);
    m_thread = start_helper_thread("starling-quit", &loop);
  } catch (...) {
    return report_to_stderr(std::current_exception(), "SIGQUIT will print no list");
  }
  struct sigaction ours {};
  ours.sa_handler = &on_signal;
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGQUIT, &ours, nullptr);
}

void signal_printer::stop() noexcept {
  if (!m_thread.joinable()) return;
  if (handler() == &on_signal) std::signal(SIGQUIT, SIG_DFL);
  request(end);
  m_thread.join();
}

void signal_printer::leave_in_child() noexcept {
  if (handler() == &on_signal) std::signal(SIGQUIT, SIG_DFL);
  for (int& fd : s_pipe)
    if (fd >= 0) ::close(std::exchange(fd, -1));  // the parent's thread reads there
  new (&m_thread) std::thread;                    // no thread to join in the child
}

}  // namespace starling::detail
