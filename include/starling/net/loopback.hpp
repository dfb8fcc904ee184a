// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/net/transport.hpp>

namespace starling {

namespace detail {
class loopback_hub;
}

/// Ranks within one process, connected by its memory: the transport of a program that runs alone,
/// and the reference for tests, where each rank may have threads of its own.
class loopback_network {
 public:
  explicit loopback_network(int size, const transport::options& options = {});

  /// The transport of a rank. Each once. The network need not outlive it.
  /// @throws usage_error on a bad rank
  [[nodiscard]] std::unique_ptr<transport> connect(int rank);

  /// The rank is gone for all others, as if its process had been killed.
  void kill(int rank);

 private:
  std::shared_ptr<detail::loopback_hub> m_hub;
};

}  // namespace starling
