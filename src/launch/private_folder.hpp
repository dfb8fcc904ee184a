// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling::launch {

/// New folder that only this user may enter (mode 0700), for one socket, for the file `requests`
/// (see stop_word.hpp) and for the file `printed`, in which ranks note the messages that one rank
/// prints for all. Removed by the destructor.
class private_folder {
 public:
  /// Creates the folder in the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp that can be used.
  /// @throws bootstrap_error with the fault of each of them
  private_folder();
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;
  ~private_folder() { remove(m_path); }

  [[nodiscard]] const std::string& path() const noexcept { return m_path; }
  [[nodiscard]] std::string socket() const { return socket_in(m_path); }
  [[nodiscard]] std::string requests() const { return m_path + "/requests"; }

  /// Removes the folder at `path`. Ignores missing files. Async-signal-safe except that it
  /// allocates memory.
  static void remove(const std::string& path) noexcept;

 private:
  static std::string socket_in(const std::string& path) { return path + "/socket"; }

  std::string m_path;
};

}  // namespace starling::launch
