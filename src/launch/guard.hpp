// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// Owner of a guard process, which cleans up if the launcher is killed: it kills the ranks' process
/// groups and removes the folders. (The kernel kills the ranks with the launcher, but not
/// the processes that they have started.)
class guard {
 public:
  /// Starts the guard process. @throws bootstrap_error
  guard(std::string private_folder, std::string shared_memory_folder, int ranks);
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  /// Ends the guard process, which kills the groups still registered and removes the folders.
  ~guard();

  /// Registers the process group of a rank; 0: none.
  void set_group(int rank, pid_t group) noexcept;

 private:
  using group_list = std::atomic<pid_t>;  // in memory shared with the guard process

  [[noreturn]] void watch(int pipe) noexcept;

  void end_groups() noexcept;
  [[nodiscard]] bool any_group_lives() const noexcept;

  std::string m_private;
  std::string m_shared;
  std::size_t m_size;
  group_list* m_groups;
  detail::unique_fd m_alive;  // write end of a pipe; any end of the launcher closes it
  pid_t m_pid = 0;
};

}  // namespace starling::launch
