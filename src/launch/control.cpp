// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "net/bootstrap/local/wire.hpp"

namespace starling::launch {
namespace {

constexpr std::size_t most_new = 8;  // connections without a request
constexpr std::size_t longest_packet = 4096;
constexpr const char* greeting = "starling-resize-1";  // the number changes with the messages

std::string prefix_of(uid_t user) { return fmt::format("starling-launch-{}-", user); }

/// Sends without waiting: the packet is the only one of this connection.
void reply(int to, bool is_done, const std::string& text) {
  const std::string packet = (is_done ? "+" : "-") + text.substr(0, longest_packet - 1);
  static_cast<void>(::send(to, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

control_address::control_address(uid_t user, pid_t launcher) {
  address.sun_family = AF_UNIX;
  const std::string name = prefix_of(user) + std::to_string(launcher);
  // The first byte of the path, a zero, stands for the abstract namespace.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

std::optional<pid_t> launcher_of(std::string_view name, uid_t user) {
  const std::string prefix = "@" + prefix_of(user);
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  pid_t launcher = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), launcher);
  if (fault != std::errc() || end != name.data() + name.size() || launcher <= 0)
    return std::nullopt;
  return launcher;
}

std::string pack(const resize_request& wanted) {
  return fmt::format("{} {} {}", greeting, wanted.ranks, wanted.within);
}

std::optional<resize_request> unpack_request(const std::string& bytes) {
  std::istringstream words(bytes);
  std::string first;
  resize_request found;
  if (!(words >> first >> found.ranks >> found.within) || first != greeting) return std::nullopt;
  if (found.ranks < 1 || found.ranks > detail::wire::rank_limit || !(found.within >= 0) ||
      found.within > 1e7 || words.peek() != std::char_traits<char>::eof())
    return std::nullopt;
  return found;
}

control::control(pid_t launcher) {
  const control_address mine(::geteuid(), launcher);
  m_listener.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (m_listener &&
      ::bind(m_listener.get(), reinterpret_cast<const sockaddr*>(&mine.address), mine.length) ==
          0 &&
      ::listen(m_listener.get(), static_cast<int>(most_new)) == 0)
    return;
  m_fault = std::strerror(errno);
  m_listener.reset();
}

control::~control() { answer(false, "the job has ended before it could be resized"); }

void control::wants(std::vector<pollfd>& into) const {
  // poll() ignores -1.
  into.push_back({m_listener.get(), POLLIN, 0});
  into.push_back({m_waiting.get(), POLLIN, 0});
  for (const detail::unique_fd& one : m_new) into.push_back({one.get(), POLLIN, 0});
}

void control::serve(const std::vector<pollfd>& polled, control_events& events) {
  const auto is_ready = [&](int fd) {
    return fd >= 0 && std::ranges::any_of(polled, [fd](const pollfd& one) {
             return one.fd == fd && one.revents != 0;
           });
  };
  if (is_ready(m_waiting.get())) {
    // A client sends one packet only, so this is the end of the connection.
    m_waiting.reset();
    events.requester_left();
  }
  std::vector<detail::unique_fd> ready;
  for (detail::unique_fd& one : m_new)
    if (is_ready(one.get())) ready.push_back(std::move(one));
  std::erase_if(m_new, [](const detail::unique_fd& one) { return !one; });
  for (detail::unique_fd& one : ready) read(std::move(one), events);
  // Last, so that a new connection does not reuse the descriptor of a polled one.
  if (is_ready(m_listener.get())) accept_all();
}

void control::accept_all() {
  for (;;) {
    const int fd = ::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) {
      // poll() would report the same connection for ever.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        m_listener.reset();
      return;
    }
    detail::unique_fd made(fd);
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::geteuid())
      continue;
    if (m_new.size() == most_new) m_new.erase(m_new.begin());
    m_new.push_back(std::move(made));
  }
}

void control::read(detail::unique_fd from, control_events& events) {
  char packet[longest_packet];
  const ssize_t count = ::recv(from.get(), packet, sizeof packet, MSG_DONTWAIT);
  if (count <= 0) return;
  const auto wanted = unpack_request(std::string(packet, static_cast<std::size_t>(count)));
  if (!wanted) return reply(from.get(), false, "its launcher is of another version of Starling");
  if (m_waiting) return reply(from.get(), false, "it is being resized already");
  m_waiting = std::move(from);
  events.resize_requested(*wanted);
}

void control::answer(bool is_done, const std::string& text) {
  if (!m_waiting) return;
  reply(m_waiting.get(), is_done, text);
  m_waiting.reset();
}

}  // namespace starling::launch
