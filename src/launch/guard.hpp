// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// A process that outlives the launcher by a moment: should the launcher be killed outright, it
/// kills the ranks' process groups (the kernel ends the ranks, but not what they have started) and
/// removes the private folder.
class guard {
 public:
  /// @throws bootstrap_error
  guard(std::string folder, int ranks);
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  /// Ends the process without effect, if all groups have been taken off.
  ~guard();

  /// 0: none (any more).
  void set_group(int rank, pid_t group) noexcept;

 private:
  using group_list = std::atomic<pid_t>;  // in memory shared with the process

  [[noreturn]] void watch(int pipe) noexcept;

  std::string m_folder;
  std::size_t m_size;
  group_list* m_groups;
  detail::unique_fd m_alive;  // closed by whatever ends the launcher
  pid_t m_pid = 0;
};

}  // namespace starling::launch
