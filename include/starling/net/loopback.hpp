// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/net/transport.hpp>

namespace starling {

namespace detail {
class loopback_hub;
}

/// Ranks within one process, connected through its memory: the transport of a program with a single
/// rank, and the reference for tests, where each rank may have its own threads.
class loopback_network {
 public:
  explicit loopback_network(int size, const transport::options& options = {});

  /// Returns the transport of `rank`. Call once for each rank. The network need not outlive it.
  /// @throws usage_error on a bad rank
  [[nodiscard]] std::unique_ptr<transport> connect(int rank);

  /// Makes `rank` a failed rank for all other ranks, as if its process had been killed.
  void kill(int rank);

 private:
  std::shared_ptr<detail::loopback_hub> m_hub;
};

}  // namespace starling
