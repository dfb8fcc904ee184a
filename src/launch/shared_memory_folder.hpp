// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling::launch {

/// New folder in /dev/shm for the files that UCX makes in the ranks. UCX unlinks a file soon after
/// its creation; the file of a rank that is killed in between is removed with the folder.
/// Removed by the destructor.
class shared_memory_folder {
 public:
  /// Creates the folder, unless the user has set UCX_POSIX_DIR or /dev/shm cannot be written.
  shared_memory_folder();
  shared_memory_folder(const shared_memory_folder&) = delete;
  shared_memory_folder& operator=(const shared_memory_folder&) = delete;
  ~shared_memory_folder() { remove(m_path); }

  /// Returns an empty text if there is no folder.
  [[nodiscard]] const std::string& path() const noexcept { return m_path; }

  /// Removes the folder at `path` with its files, if there is one. Allocates memory.
  static void remove(const std::string& path) noexcept;

 private:
  std::string m_path;
};

}  // namespace starling::launch
