// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <starling/net/bootstrap.hpp>

namespace starling::detail {

/// Where a rank runs.
struct process_place {
  long id = 0;
  std::string host;                 ///< its name, for people
  std::string view;                 ///< equal where one process can see the other and its sockets
  std::uint64_t shared_memory = 0;  ///< bytes free in /dev/shm when the ranks met; 0: none

  /// "process 123 on host"
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_near() const;
};

/// Collective.
[[nodiscard]] std::vector<process_place> all_processes(bootstrap& ranks);

/// Sees whether another process of this host has ended.
class process_watch {
 public:
  /// One that is not there has ended.
  explicit process_watch(long id) noexcept;
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;
  ~process_watch();
  [[nodiscard]] bool has_ended() const noexcept;

 private:
  int m_descriptor = -1;
  bool m_is_gone = false;
};

}  // namespace starling::detail
