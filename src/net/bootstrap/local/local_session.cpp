// SPDX-License-Identifier: Apache-2.0
#include "local_session.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "../implementations.hpp"

namespace starling::detail {

local_session::local_session(local_settings settings) : m_settings(std::move(settings)) {
  const auto deadline = clock::now() + m_settings.timeout;
  connect();
  check_peer();
  std::string body(m_settings.secret.begin(), m_settings.secret.end());
  wire::put_u32(body, static_cast<std::uint32_t>(m_settings.rank));
  wire::put_u32(body, static_cast<std::uint32_t>(m_settings.size));
  send(wire::kind::hello, body);
  (void)receive(wire::kind::welcome, deadline);
}

void local_session::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (m_settings.socket.empty() || m_settings.socket.size() >= sizeof address.sun_path) {
    fail(fmt::format("'{}' cannot be the path of a socket", m_settings.socket));
  }
  std::memcpy(address.sun_path, m_settings.socket.data(), m_settings.socket.size());
  m_fd.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!m_fd) fail(fmt::format("no socket can be made: {}", std::strerror(errno)));
  // Limits the time for which connect() and send() block when the launcher does not read.
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(m_settings.timeout);
  const timeval limit{micro.count() / 1'000'000, micro.count() % 1'000'000};
  ::setsockopt(m_fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int done = -1;
  do {
    done = ::connect(m_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (done != 0 && errno == EINTR);
  if (done != 0) {
    fail(
        fmt::format("{} does not answer ({}): the launcher has ended, or STARLING_LAUNCH_SOCKET is "
                    "left over from another job; unset it to run alone",
                    m_settings.socket, std::strerror(errno)));
  }
}

void local_session::check_peer() const {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(m_fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
      peer.uid == ::geteuid()) {
    return;
  }
  throw bootstrap_error(
      fmt::format("{} is served by user {}, not by user {}, the owner of this rank",
                  m_settings.socket, peer.uid, ::geteuid()));
}

void local_session::send(wire::kind what, const std::string& body) {
  if (!m_failure.empty()) throw bootstrap_error(m_failure);
  if (!write_frame(what, body)) fail_after_timeout("the launcher does not read");
}

bool local_session::write_frame(wire::kind what, const std::string& body) {
  const std::string bytes = wire::frame(what, body);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        ::send(m_fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      m_is_torn = sent > 0;
      return false;
    } else if (errno != EINTR) {
      break;  // closed by the launcher; its message with the reason may still be readable
    }
  }
  return true;
}

bool local_session::wait_for_bytes(clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    if (left.count() <= 0) return false;
    pollfd wanted{m_fd.get(), POLLIN, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<long>(left.count(), 1'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) fail(fmt::format("poll: {}", std::strerror(errno)));
  }
}

wire::message local_session::receive(wire::kind expected, clock::time_point deadline) {
  if (!m_failure.empty()) throw bootstrap_error(m_failure);
  try {
    for (;;) {
      if (auto whole = m_reader.next(wire::to_rank(m_settings.size))) {
        if (whole->what == wire::kind::failure) fail(whole->body);
        if (whole->what != expected) throw wire::bad_message("it is of an unexpected kind");
        return std::move(*whole);
      }
      if (!wait_for_bytes(deadline)) fail_after_timeout("nothing came");
      char block[1 << 16];
      const ssize_t count = ::recv(m_fd.get(), block, sizeof block, 0);
      if (count == 0 || (count < 0 && errno == ECONNRESET)) {
        fail("the launcher has gone: it ended or was killed");
      }
      if (count < 0 && errno != EINTR) fail(fmt::format("recv: {}", std::strerror(errno)));
      if (count > 0) m_reader.put(block, static_cast<std::size_t>(count));
    }
  } catch (const wire::bad_message& bad) {
    fail(
        fmt::format("the launcher sent a message that cannot be read: {}; are launcher and program "
                    "of one version of Starling?",
                    bad.what()));
  }
}

void local_session::fail(const std::string& why) {
  if (m_failure.empty()) {
    m_failure = fmt::format("rank {} of {} under starling launch: {}", m_settings.rank,
                            m_settings.size, why);
  }
  throw bootstrap_error(m_failure);
}

void local_session::fail_after_timeout(const char* what) {
  m_failure =
      fmt::format("rank {} of {} under starling launch: {} for {} s (STARLING_BOOTSTRAP_TIMEOUT)",
                  m_settings.rank, m_settings.size, what,
                  std::round(static_cast<double>(m_settings.timeout.count()) / 100) / 10);
  // Asks the launcher which ranks are missing. If the launcher still runs, it answers at once.
  const std::string question = wire::frame(wire::kind::missing, {});
  pollfd wanted{m_fd.get(), POLLIN, 0};
  if (!m_reader.in_the_middle() && !m_is_torn &&
      ::send(m_fd.get(), question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 &&
      ::poll(&wanted, 1, 5000) == 1) {
    char block[1 << 12];
    const ssize_t count = ::recv(m_fd.get(), block, sizeof block, MSG_DONTWAIT);
    if (count > 0) m_reader.put(block, static_cast<std::size_t>(count));
    const auto answer = m_reader.next(wire::to_rank(m_settings.size));
    if (answer && answer->what == wire::kind::failure) m_failure += ": " + answer->body;
  }
  throw bootstrap_error(m_failure);
}

std::vector<std::string> local_session::all_gather(const std::string& mine) {
  check_gather_size(mine);
  const auto deadline = clock::now() + m_settings.timeout;
  const std::uint32_t round = m_round++;
  std::string body;
  wire::put_u32(body, round);
  body += mine;
  send(wire::kind::gather, body);
  const wire::message answer = receive(wire::kind::gathered, deadline);
  try {
    return wire::unpack_gathered(answer.body, round, m_settings.size);
  } catch (const wire::bad_message& bad) {
    fail(fmt::format("the launcher sent a message that cannot be read: {}", bad.what()));
  }
}

void local_session::abort(int exit_code, const std::string& why) noexcept {
  try {
    std::string body;
    wire::put_u32(body, static_cast<std::uint32_t>(exit_code));
    body += why.substr(0, wire::text_limit);
    // Also after a failure: other ranks may wait for ever, and only the launcher can end them.
    if (!m_is_torn) (void)write_frame(wire::kind::abort, body);
  } catch (...) {  // out of memory: the request to end the job is lost
  }
}

}  // namespace starling::detail
