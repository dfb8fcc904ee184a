// SPDX-License-Identifier: Apache-2.0
// The calls of the operating system that change files. Tests replace them by calls that fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace starling::detail {

/// Calls with the results of their POSIX namesakes: negative and errno on failure. Thread-safe.
class file_system {
 public:
  virtual ~file_system() = default;
  /// Creates or truncates a file for writing; returns its descriptor.
  virtual int create(const std::string& path);
  /// Opens an existing regular file without other names for writing from its first byte; returns
  /// its descriptor.
  virtual int open_existing(const std::string& path);
  virtual int resize(int descriptor, std::uint64_t size);
  /// Whether the files of an existing folder are in memory only.
  virtual bool is_in_memory(const std::string& folder);
  virtual ssize_t write(int descriptor, std::span<const std::byte> bytes);
  /// Writes back the data and the size of a file, or the entries of a folder.
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int make_folder(const std::string& path);
  virtual int remove_file(const std::string& path);
  virtual int remove_folder(const std::string& path);
};

/// Returns the file system of the operating system.
[[nodiscard]] file_system& system_files();

/// Waits until the entries of the folder are on disk. @throws checkpoint_error
void sync_folder(file_system& files, const std::string& path);

}  // namespace starling::detail
