// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/system_resources.hpp>

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include <starling/core/error.hpp>

namespace starling::detail {

std::thread start_helper_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits its creator's mask
  int refused = 0;
  std::thread made;
  try {
    made = std::thread(std::move(body));
    ::pthread_setname_np(made.native_handle(), name);
  } catch (const std::system_error& e) {
    refused = e.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refused != 0) throw_no_thread(fmt::format("the helper thread {}", name), 0, 1, "", refused);
  return made;
}

void throw_no_thread(const std::string& purpose, std::size_t got, std::size_t asked,
                     const std::string& remedy, int code) {
  throw resource_error(fmt::format(
      "not enough threads for {}: {} asked for, {} given ({}); threads are limited by `ulimit -u`, "
      "`ulimit -v` and a container's pids limit: raise these limits{}{}",
      purpose, asked, got, std::strerror(code), remedy.empty() ? "" : ", or ", remedy));
}

void throw_no_descriptor(const std::string& purpose, int code) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  throw resource_error(
      fmt::format("no descriptor for {}: 1 asked for, 0 given ({}); the process may have {} open: "
                  "raise this limit with `ulimit -n`",
                  purpose, std::strerror(code), limit.rlim_cur));
}

int make_event_descriptor(const char* purpose) {
  const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) throw_no_descriptor(purpose, errno);
  return made;
}

}  // namespace starling::detail
