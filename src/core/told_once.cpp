// SPDX-License-Identifier: Apache-2.0
#include <starling/core/told_once.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace starling {
namespace {

/// What stands in the file; an error of reading ends it.
std::string read_all(int file) {
  std::string text;
  char part[1024];
  for (ssize_t n = 0; (n = ::read(file, part, sizeof part)) > 0;) text.append(part, std::size_t(n));
  return text;
}

bool lock(int file) noexcept {
  while (::flock(file, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

}  // namespace

bool is_told_by_another_rank(const std::string& text) noexcept try {
  const char* const socket = std::getenv("STARLING_LAUNCH_SOCKET");
  if (socket == nullptr) return false;
  const std::string name = std::filesystem::path(socket).replace_filename("told");
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return false;
  if (!lock(file)) return false;
  if (read_all(file).find(text) != std::string::npos) {
    ::close(file);
    return true;
  }
  // If this fails, others tell the same. The file stays open, and so locked, until this process has
  // printed `text` and ended: the launcher ends a job when its first rank has failed.
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  return false;
} catch (...) {  // told twice is better than not at all
  return false;
}

}  // namespace starling
