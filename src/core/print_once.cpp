// SPDX-License-Identifier: Apache-2.0
#include <starling/core/print_once.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace starling {
namespace {

/// Lines that the ranks of a job have printed: a file beside the launcher's socket, locked during
/// this object's lifetime. Each record is a rank, a tab, a line and a zero byte.
class printed_lines {
 public:
  printed_lines() {
    const char* const socket = std::getenv("STARLING_LAUNCH_SOCKET");
    const char* const rank = std::getenv("STARLING_LAUNCH_RANK");
    if (socket == nullptr || rank == nullptr) return;
    m_rank = std::string(rank) + '\t';
    const std::string name = std::filesystem::path(socket).replace_filename("printed");
    m_file = ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (m_file >= 0 && ::flock(m_file, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  printed_lines(const printed_lines&) = delete;
  printed_lines& operator=(const printed_lines&) = delete;
  ~printed_lines() {
    if (m_file >= 0) ::close(m_file);
  }

  [[nodiscard]] bool has_of_another_rank(const std::string& line) const {
    const std::string all = read_all();
    for (std::string_view rest = all; !rest.empty();) {
      const std::string_view record = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(record.size() + 1, rest.size()));
      if (!record.starts_with(m_rank) && record.substr(record.find('\t') + 1) == line) return true;
    }
    return false;
  }

  /// Adds a line of this rank. If this fails, other ranks print the line, too.
  void add(const std::string& line) const {
    if (m_file < 0) return;
    const std::string record = m_rank + line + '\0';
    [[maybe_unused]] const ssize_t written = ::write(m_file, record.data(), record.size());
  }

 private:
  [[nodiscard]] std::string read_all() const {
    std::string text;
    char part[1024];
    for (ssize_t n = 0; m_file >= 0 && (n = ::read(m_file, part, sizeof part)) > 0;)
      text.append(part, std::size_t(n));
    return text;
  }

  std::string m_rank;
  int m_file = -1;
};

void print(const std::string& line) noexcept {
  std::fprintf(stderr, "%s%s", line.c_str(), line.ends_with('\n') ? "" : "\n");
  std::fflush(stderr);  // the program may have made stderr buffered
}

}  // namespace

void print_once_per_job(const std::string& line) noexcept {
  bool is_printed = false;
  try {
    const printed_lines lines;
    if (lines.has_of_another_rank(line)) return;
    print(line);
    is_printed = true;
    lines.add(line);
  } catch (...) {  // out of memory: a repeated line is better than a lost line
    if (!is_printed) print(line);
  }
}

}  // namespace starling
