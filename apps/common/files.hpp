// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace apps {

/// A new file, written sequentially. Every failure (no space, a limit, an I/O error) throws
/// `output_error`; a short write is continued until it succeeds or fails. Not thread safe.
class output_file {
 public:
  /// Creates `path`, or truncates an existing file.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::span<const double> values) { write(std::as_bytes(values)); }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Returns the number of bytes written so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return m_position; }

  /// Forces the content to storage and closes the file. Without this call nothing is guaranteed.
  void close();

 private:
  std::filesystem::path m_path;
  int m_descriptor = -1;
  std::uint64_t m_position = 0;
};

/// An existing file that is written at given positions; several processes may write disjoint ranges
/// of it. Every failure throws `output_error`. Not thread safe.
class positioned_file {
 public:
  /// Opens `path` and keeps its content.
  explicit positioned_file(std::filesystem::path path);
  ~positioned_file();
  positioned_file(const positioned_file&) = delete;
  positioned_file& operator=(const positioned_file&) = delete;

  /// Sets the size of the file; new bytes are 0.
  void resize(std::uint64_t bytes);
  void write(std::uint64_t position, std::span<const std::byte> bytes);

  /// Forces the written ranges to storage and closes the file. Without this call nothing is
  /// guaranteed.
  void close();

 private:
  std::filesystem::path m_path;
  int m_descriptor = -1;
};

/// Replaces the content of a file by `text`, completely or not at all. A device, a pipe or the
/// target of a symbolic link is written in place instead. Throws `output_error`.
void write_whole(const std::filesystem::path& target, std::string_view text);

/// Throws `output_error` if `write_whole` could not begin. Leaves no file behind.
void check_writable(const std::filesystem::path& target);

/// A hidden temporary path beside `target`. `commit` moves it to `target`, so that a failed write
/// never damages the previous content. Works for files and directories; without `commit` the
/// destructor removes the temporary file or directory.
class staged_output {
 public:
  /// Creates nothing yet. Throws if `target` exists and is neither a file nor a directory.
  explicit staged_output(std::filesystem::path target);
  ~staged_output();
  staged_output(const staged_output&) = delete;
  staged_output& operator=(const staged_output&) = delete;

  /// Returns the temporary path, to which the caller writes.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return m_temporary; }

  /// Moves the written file or directory to the target. A file replaces a file in one step; a
  /// directory that is replaced is moved aside first, and back if the second step fails.
  void commit();

 private:
  void replace_directory();

  std::filesystem::path m_target;
  std::filesystem::path m_temporary;
  bool m_committed = false;
};

}  // namespace apps
