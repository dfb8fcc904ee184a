// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <starling/net/bootstrap.hpp>

#include "../bootstrap/local/unique_fd.hpp"

namespace starling::detail {

/// Process and host of a rank.
struct process_location {
  long id = 0;
  std::string host;                 ///< host name, for messages
  std::string view;                 ///< equal for processes that can reach each other's sockets
  std::uint64_t shared_memory = 0;  ///< bytes free in UCX's folder at start; 0: not writable

  /// Returns "process 123 on host".
  [[nodiscard]] std::string name() const;
  /// Returns whether the process shares host and namespaces with this one.
  [[nodiscard]] bool is_near() const;
};

/// Collective. Returns the processes of all ranks, indexed by rank.
[[nodiscard]] std::vector<process_location> all_processes(bootstrap& ranks);

/// Detects the end of another process of this host.
class process_watch {
 public:
  /// A process that does not exist counts as ended.
  explicit process_watch(long id) noexcept;
  [[nodiscard]] bool has_ended() const noexcept;

 private:
  unique_fd m_descriptor;
  bool m_is_gone = false;
};

}  // namespace starling::detail
