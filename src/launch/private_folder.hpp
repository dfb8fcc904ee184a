// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace starling::launch {

/// A new folder that only this user may enter (0700), with place for one socket and for the file
/// `printed`, where ranks note what one prints for all; removed at the end.
class private_folder {
 public:
  /// Below $XDG_RUNTIME_DIR, $TMPDIR or /tmp: the first that can be used.
  /// @throws bootstrap_error telling what is wrong with each of them
  private_folder();
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;
  ~private_folder() { remove(m_path); }

  [[nodiscard]] const std::string& path() const noexcept { return m_path; }
  [[nodiscard]] std::string socket() const { return socket_in(m_path); }

  /// Async-signal-safe but for memory; silent when there is nothing.
  static void remove(const std::string& path) noexcept;

 private:
  static std::string socket_in(const std::string& path) { return path + "/socket"; }

  std::string m_path;
};

}  // namespace starling::launch
