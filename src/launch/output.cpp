// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include <fmt/format.h>

namespace starling::launch {
namespace {

/// Longest line, in bytes. Longer lines are written in parts, so that memory stays bounded.
constexpr std::size_t longest_line = std::size_t{1} << 20;

}  // namespace

void sink::write_some() {
  // A pipe that poll() reports as writable has room for PIPE_BUF bytes; a larger write could block.
  // Other processes share the descriptor, so it must not be made non-blocking.
  const std::size_t piece = std::min<std::size_t>(m_pending.size(), PIPE_BUF);
  const ssize_t count = ::write(m_fd, m_pending.data(), piece);
  if (count > 0) {
    m_pending.erase(0, static_cast<std::size_t>(count));
  } else if (count < 0 && errno != EINTR && errno != EAGAIN) {
    m_fault = errno;
    m_pending.clear();
  }
}

labelled_stream::labelled_stream(detail::unique_fd from, int rank, sink& to)
    : m_from(std::move(from)), m_label(fmt::format("[{}] ", rank)), m_to(&to) {}

std::size_t labelled_stream::read_some() {
  char block[1 << 14];
  const ssize_t count = ::read(m_from.get(), block, sizeof block);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  // After EPIPE the pipe is closed: the rank gets SIGPIPE, as it would without the launcher. After
  // other errors of the output, the text is read and dropped.
  if (count <= 0 || m_to->fault() == EPIPE) {
    finish();
    return 0;
  }
  m_line.append(block, static_cast<std::size_t>(count));
  put_lines();
  return static_cast<std::size_t>(count);
}

void labelled_stream::read_the_rest() {
  int there = 0;
  if (m_from && ::ioctl(m_from.get(), FIONREAD, &there) != 0) there = 0;
  while (there > 0) {
    const std::size_t count = read_some();
    if (count == 0) break;
    there -= static_cast<int>(count);
  }
  finish();
}

void labelled_stream::put_lines() {
  std::size_t from = 0;
  for (std::size_t end; (end = m_line.find('\n', from)) != std::string::npos; from = end + 1) {
    m_to->put(m_label + m_line.substr(from, end + 1 - from));
  }
  m_line.erase(0, from);
  if (m_line.size() >= longest_line) {
    m_to->put(m_label + m_line + '\n');
    m_line.clear();
  }
}

void labelled_stream::finish() {
  if (!m_line.empty()) m_to->put(m_label + m_line + '\n');
  m_line.clear();
  m_from.reset();
}

bool are_same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace starling::launch
