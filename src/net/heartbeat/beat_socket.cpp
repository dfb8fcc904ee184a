// SPDX-License-Identifier: Apache-2.0
#include "beat_socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

#include <fmt/ranges.h>

#include <starling/core/detail/system_resources.hpp>

namespace starling::detail {
namespace {

constexpr int kind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

unique_fd open_socket(int domain) {
  unique_fd fd(::socket(domain, kind, 0));
  if (!fd && (errno == EMFILE || errno == ENFILE)) throw_no_descriptor("heartbeats", errno);
  return fd;
}

/// Opens a Unix-domain socket with a unique abstract name chosen by the kernel.
unique_fd open_unix() {
  unique_fd fd = open_socket(AF_UNIX);
  sockaddr_un any{};
  any.sun_family = AF_UNIX;
  if (fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family) != 0)
    fd.reset();
  return fd;
}

/// Returns the first IPv4 address of an interface that is up and not the loopback interface.
std::optional<in_addr> own_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  std::optional<in_addr> found;
  for (const ifaddrs* i = all; i != nullptr && !found; i = i->ifa_next) {
    const bool leads_elsewhere = (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0;
    if (leads_elsewhere && i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET)
      found = reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
  }
  ::freeifaddrs(all);
  return found;
}

unique_fd open_udp() {
  const auto mine = own_address();
  unique_fd fd = mine ? open_socket(AF_INET) : unique_fd();
  if (!fd) return fd;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr = *mine;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fd.reset();
  return fd;
}

}  // namespace

beat_socket::beat_socket(reach how) : m_fd(how == reach::host ? open_unix() : open_udp()) {}

std::string beat_socket::address() const {
  beat_address at;
  at.size = sizeof at.bytes;
  if (!m_fd || ::getsockname(m_fd.get(), reinterpret_cast<sockaddr*>(&at.bytes), &at.size) != 0)
    return "-";
  const std::span used(reinterpret_cast<const unsigned char*>(&at.bytes), at.size);
  return fmt::format("{:02x}", fmt::join(used, ""));
}

std::optional<beat_address> beat_socket::parse(const std::string& address) {
  beat_address at;
  if (address.size() % 2 != 0 || address.size() / 2 > sizeof at.bytes) return std::nullopt;
  for (std::size_t i = 0; i < address.size(); i += 2) {
    if (address.find_first_not_of("0123456789abcdef") != address.npos) return std::nullopt;
    reinterpret_cast<unsigned char*>(&at.bytes)[i / 2] =
        static_cast<unsigned char>(std::stoi(address.substr(i, 2), nullptr, 16));
  }
  at.size = static_cast<socklen_t>(address.size() / 2);
  return at;
}

void beat_socket::send(const beat_address& to, std::span<const std::byte> datagram) const noexcept {
  // Non-blocking: the datagram is dropped if the receiver's queue is full, as when the receiver is
  // stopped.
  static_cast<void>(::sendto(m_fd.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to.bytes), to.size));
}

bool beat_socket::receive(std::span<std::byte> datagram) const noexcept {
  for (;;) {
    const ssize_t n = ::recv(m_fd.get(), datagram.data(), datagram.size(), MSG_TRUNC);
    if (n == static_cast<ssize_t>(datagram.size())) return true;
    if (n < 0 && errno != EINTR && errno != ECONNREFUSED) return false;
  }
}

}  // namespace starling::detail
