// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace apps {

/// A new file, written from front to back. Every failure (no space, a limit, an I/O error) throws
/// `output_error`; a short write is continued until it succeeds or fails. Not thread safe.
class output_file {
 public:
  /// Creates `path` or empties it.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::span<const double> values) { write(std::as_bytes(values)); }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return m_position; }

  /// Forces the content to storage and closes. Without this call nothing is guaranteed.
  void close();

 private:
  std::filesystem::path m_path;
  int m_descriptor = -1;
  std::uint64_t m_position = 0;
};

/// Puts `text` into a file, complete or not at all; a device, a pipe or what a link leads to is
/// written to as it is. Throws `output_error`.
void write_whole(const std::filesystem::path& target, std::string_view text);

/// Throws `output_error` if `write_whole` could not begin. Leaves no trace.
void check_writable(const std::filesystem::path& target);

/// A hidden temporary name beside `target` that `commit` moves into its place, so that a failed
/// write never damages what stood there before. Works for files and directories; without `commit`
/// the destructor removes what was written under the temporary name.
class staged_output {
 public:
  /// Nothing is created yet. Throws if `target` names something else than a file or directory.
  explicit staged_output(std::filesystem::path target);
  ~staged_output();
  staged_output(const staged_output&) = delete;
  staged_output& operator=(const staged_output&) = delete;

  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return m_temporary; }

  /// Puts the written file or directory in the place of the target. A file replaces a file in one
  /// step; a directory that is replaced is moved aside first, and back if the second step fails.
  void commit();

 private:
  void replace_directory();

  std::filesystem::path m_target;
  std::filesystem::path m_temporary;
  bool m_committed = false;
};

}  // namespace apps
