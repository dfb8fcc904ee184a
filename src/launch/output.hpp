// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// Text on its way to stdout or stderr, written in pieces that do not make the launcher wait.
class sink {
 public:
  explicit sink(int fd) : m_fd(fd) {}

  [[nodiscard]] int fd() const noexcept { return m_fd; }
  /// Why it can be written no more, as errno; 0: it can.
  [[nodiscard]] int fault() const noexcept { return m_fault; }
  [[nodiscard]] bool is_broken() const noexcept { return m_fault != 0; }
  [[nodiscard]] bool is_empty() const noexcept { return m_pending.empty(); }
  /// Enough is waiting: read no more for it.
  [[nodiscard]] bool is_full() const noexcept { return m_pending.size() > (1 << 16); }

  void put(std::string_view text) {
    if (!is_broken()) m_pending += text;
  }
  /// Writes a piece. To be called after poll() has found room (POLLOUT).
  void write_some();

 private:
  int m_fd;
  int m_fault = 0;
  std::string m_pending;
};

/// The lines that a rank prints, each with the rank in front.
class labelled_stream {
 public:
  /// `to` outlives it.
  labelled_stream(detail::unique_fd from, int rank, sink& to);

  /// -1 after the end.
  [[nodiscard]] int fd() const noexcept { return m_from.get(); }
  [[nodiscard]] bool wants_to_read() const noexcept { return m_from && !m_to->is_full(); }
  /// Takes what is there, up to a block; the number of bytes.
  std::size_t read_some();
  /// Takes what is there now and no more, for somebody may go on writing; then finishes.
  void read_the_rest();
  /// No more will be read: gives the last line, which had no end.
  void finish();

 private:
  void put_lines();

  detail::unique_fd m_from;
  std::string m_label;
  sink* m_to;
  std::string m_line;
};

/// Whether two descriptors are the same file, pipe or terminal.
[[nodiscard]] bool are_same_file(int one, int other);

}  // namespace starling::launch
