// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// Queue of text for stdout or stderr, written in pieces that do not block the launcher.
class sink {
 public:
  explicit sink(int fd) : m_fd(fd) {}

  [[nodiscard]] int fd() const noexcept { return m_fd; }
  /// Returns the errno of the write that failed, or 0. After a failure all text is dropped.
  [[nodiscard]] int fault() const noexcept { return m_fault; }
  [[nodiscard]] bool is_empty() const noexcept { return m_pending.empty(); }
  /// Returns whether more than 64 KiB are queued; then its streams are not read.
  [[nodiscard]] bool is_full() const noexcept { return m_pending.size() > (1 << 16); }

  void put(std::string_view text) {
    if (m_fault == 0) m_pending += text;
  }
  /// Writes a piece. Call after poll() has reported POLLOUT.
  void write_some();

 private:
  int m_fd;
  int m_fault = 0;
  std::string m_pending;
};

/// Output of one rank, copied line by line with the rank as a prefix.
class labelled_stream {
 public:
  /// `to` must outlive the stream.
  labelled_stream(detail::unique_fd from, int rank, sink& to);

  /// Returns the descriptor to read, or -1 after the end.
  [[nodiscard]] int fd() const noexcept { return m_from.get(); }
  [[nodiscard]] bool wants_to_read() const noexcept { return m_from && !m_to->is_full(); }
  /// Reads the available text, at most one block. Returns the number of bytes.
  std::size_t read_some();
  /// Reads the text available now, then finishes. It does not wait for the end of the pipe, to
  /// which other processes may continue to write.
  void read_the_rest();
  /// Ends reading: copies the last line if it has no newline, and closes the pipe.
  void finish();

 private:
  void put_lines();

  detail::unique_fd m_from;
  std::string m_label;
  sink* m_to;
  std::string m_line;
};

/// Returns whether two descriptors refer to the same file, pipe or terminal.
[[nodiscard]] bool are_same_file(int one, int other);

}  // namespace starling::launch
