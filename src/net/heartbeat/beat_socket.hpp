// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "../bootstrap/local/unique_fd.hpp"

namespace starling::detail {

/// Where datagrams go.
struct beat_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

/// Datagrams between ranks, which never make anybody wait. Who is of the same host uses a socket of
/// Unix with an abstract name, which leaves no file behind; others use UDP, at the one address of
/// this host that leads to other hosts. Whoever sends is told apart by what is sent.
class beat_socket {
 public:
  enum class reach { host, network };

  /// None where the system has none to give.
  explicit beat_socket(reach how);

  [[nodiscard]] int descriptor() const noexcept { return m_fd.get(); }
  /// For other ranks, without blanks; "-": there is none.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] static std::optional<beat_address> parse(const std::string& address);

  void send(const beat_address& to, std::span<const std::byte> datagram) const noexcept;
  /// The next one of exactly this size; others are dropped. False: there is none.
  [[nodiscard]] bool receive(std::span<std::byte> datagram) const noexcept;

 private:
  unique_fd m_fd;
};

}  // namespace starling::detail
