// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "../bootstrap/local/unique_fd.hpp"

namespace starling::detail {

/// Address of a receiver of datagrams.
struct beat_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

/// Socket for datagrams between ranks. Never blocks. Ranks of one host use Unix-domain sockets with
/// abstract names, which leave no files; ranks of different hosts use UDP, at the first address of
/// this host on a network. The sender is identified by the datagram's content.
class beat_socket {
 public:
  enum class reach { host, network };

  /// Has no descriptor if the system provides no socket or address. @throws resource_error if the
  /// limit of open files is reached
  explicit beat_socket(reach how);

  [[nodiscard]] int descriptor() const noexcept { return m_fd.get(); }
  /// Returns the address for other ranks, without blanks; "-" if there is none.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] static std::optional<beat_address> parse(const std::string& address);

  void send(const beat_address& to, std::span<const std::byte> datagram) const noexcept;
  /// Reads the next datagram of exactly this size and drops datagrams of other sizes. Returns false
  /// if no such datagram is there.
  [[nodiscard]] bool receive(std::span<std::byte> datagram) const noexcept;

 private:
  unique_fd m_fd;
};

}  // namespace starling::detail
