// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/ranges.h>
#include <starling/net/bootstrap.hpp>

namespace starling::launch {

namespace wire = detail::wire;

/// Connection of a rank; unauthenticated, with rank -1, until its hello has arrived.
struct rendezvous::connection {
  detail::unique_fd fd;
  int rank = -1;
  pid_t pid = 0;
  wire::reader reader;
  std::deque<std::shared_ptr<const std::string>> outgoing;
  std::size_t sent_of_first = 0;

  [[nodiscard]] std::string who() const {
    return rank < 0 ? fmt::format("process {}", pid)
                    : fmt::format("rank {} (process {})", rank, pid);
  }
};

namespace {

constexpr std::size_t most_unauthenticated = 64;

/// Compares in a time that does not depend on the number of equal bytes.
bool is_secret(std::string_view given, const wire::secret& expected) {
  unsigned differences = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    differences |= static_cast<unsigned char>(given[i]) ^ expected[i];
  }
  return differences == 0;
}

}  // namespace

rendezvous::rendezvous(const std::string& path, const wire::secret& secret, int size,
                       rendezvous_events& events)
    : m_secret(secret), m_events(events), m_ranks(static_cast<std::size_t>(size)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw bootstrap_error(fmt::format("{} is too long for a socket's path", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  m_listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!m_listener ||
      ::bind(m_listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(m_listener.get(), size + 64) != 0) {
    throw bootstrap_error(
        fmt::format("no socket can be made at {}: {}", path, std::strerror(errno)));
  }
}

rendezvous::~rendezvous() = default;

void rendezvous::wants(std::vector<pollfd>& into) const {
  into.push_back({m_listener.get(), POLLIN, 0});
  for (const auto& one : m_connections) {
    const int out = one->outgoing.empty() ? 0 : POLLOUT;
    into.push_back({one->fd.get(), static_cast<short>(POLLIN | out), 0});
  }
}

void rendezvous::serve(const std::vector<pollfd>& polled) {
  bool newcomers = false;
  for (const pollfd& ready : polled) {
    if (ready.revents == 0) continue;
    if (ready.fd == m_listener.get()) newcomers = true;
    const auto found = std::find_if(m_connections.begin(), m_connections.end(),
                                    [&](const auto& one) { return one->fd.get() == ready.fd; });
    if (found == m_connections.end()) continue;
    if ((ready.revents & POLLOUT) != 0) flush(**found);
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read(**found);
  }
  // Last, so that a new connection does not reuse the descriptor of a polled one.
  forget_closed();
  if (newcomers) accept_all();
}

void rendezvous::serve_all() {
  accept_all();
  for (std::size_t i = 0; i < m_connections.size(); ++i) read(*m_connections[i]);
  forget_closed();
}

void rendezvous::accept_all() {
  for (;;) {
    const int fd = ::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return stop_if_exhausted(errno);
    auto made = std::make_unique<connection>();
    made->fd.reset(fd);
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) continue;
    made->pid = peer.pid;
    if (peer.uid != ::geteuid()) {
      refuse(*made, fmt::format("it belongs to user {}", peer.uid));
      continue;
    }
    drop_oldest_unauthenticated();
    m_connections.push_back(std::move(made));
  }
}

void rendezvous::stop_if_exhausted(int number) {
  if (number != EMFILE && number != ENFILE && number != ENOMEM && number != ENOBUFS) return;
  m_listener.reset();  // poll() would report the same connection for ever
  m_events.exhausted(fmt::format(
      "no more ranks can connect: {}; raise the limit of open files (ulimit -n) above three for "
      "each rank, or free some memory",
      std::strerror(number)));
}

void rendezvous::drop_oldest_unauthenticated() {
  const auto is_unauthenticated = [](const auto& one) { return one->rank < 0; };
  const auto unauthenticated =
      std::count_if(m_connections.begin(), m_connections.end(), is_unauthenticated);
  if (static_cast<std::size_t>(unauthenticated) < most_unauthenticated + m_ranks.size()) return;
  refuse(**std::find_if(m_connections.begin(), m_connections.end(), is_unauthenticated),
         "it has not introduced itself, and there are too many such connections");
  forget_closed();
}

void rendezvous::read(connection& from) {
  while (from.fd) {
    char block[1 << 16];
    const ssize_t count = ::recv(from.fd.get(), block, sizeof block, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      if (from.reader.in_the_middle()) {
        refuse(from, "its last message is not whole");
      } else if (from.rank < 0) {
        refuse(from, "it closed the connection without a message");
      }
      return from.fd.reset();
    }
    from.reader.put(block, static_cast<std::size_t>(count));
    try {
      while (from.fd) {
        const auto whole =
            from.reader.next(from.rank < 0 ? wire::first_to_launcher : wire::then_to_launcher);
        if (!whole) break;
        take(from, *whole);
      }
    } catch (const wire::bad_message& bad) {
      refuse(from, fmt::format("a message cannot be read: {}", bad.what()));
    }
  }
}

void rendezvous::take(connection& from, const wire::message& whole) {
  switch (whole.what) {
    case wire::kind::hello:
      return welcome(from, whole);
    case wire::kind::gather:
      return gather(from, whole);
    case wire::kind::missing:
      return send_failure(from, who_is_missing());
    case wire::kind::abort: {
      wire::cursor body(whole.body);
      const auto exit_code = static_cast<int>(body.u32());
      return m_events.aborted(from.rank, exit_code, std::string(body.rest()));
    }
    default:
      return;  // rejected by then_to_launcher
  }
}

void rendezvous::welcome(connection& from, const wire::message& hello) {
  wire::cursor body(hello.body);
  const std::string_view secret = body.bytes(m_secret.size());
  const std::uint32_t rank = body.u32();
  const std::uint32_t size = body.u32();
  if (!is_secret(secret, m_secret)) return refuse(from, "it does not know the secret of this job");
  if (size != m_ranks.size() || rank >= size) {
    return refuse(from, fmt::format("it says to be rank {} of {}, but this job has {}", rank, size,
                                    m_ranks.size()));
  }
  if (m_ranks[rank].connected) {
    return refuse(from,
                  fmt::format("rank {} has connected before; a program that a rank starts must "
                              "not be a rank, too: unset STARLING_LAUNCH_… for it",
                              rank));
  }
  from.rank = static_cast<int>(rank);
  m_ranks[rank].connected = true;
  send(from, std::make_shared<const std::string>(wire::frame(wire::kind::welcome, {})));
}

void rendezvous::gather(connection& from, const wire::message& contribution) {
  wire::cursor body(contribution.body);
  const std::uint32_t round = body.u32();
  rank_state& mine = m_ranks[static_cast<std::size_t>(from.rank)];
  if (round != m_round || mine.given) {
    return refuse(from, fmt::format("it gave to round {}, in round {}", round, m_round));
  }
  mine.given = std::string(body.rest());
  for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
    if (m_ranks[rank].ended && !m_ranks[rank].given) {
      return send_failure(from, fmt::format("rank {} has ended", rank));
    }
  }
  if (std::ranges::any_of(m_ranks, std::logical_not(), &rank_state::given)) return;
  std::vector<std::string> all;
  all.reserve(m_ranks.size());
  for (rank_state& one : m_ranks) {
    all.push_back(*std::exchange(one.given, std::nullopt));
  }
  const auto answer = std::make_shared<const std::string>(
      wire::frame(wire::kind::gathered, wire::pack_gathered(m_round, all)));
  ++m_round;
  for (const auto& one : m_connections) {
    if (one->rank >= 0 && one->fd) send(*one, answer);
  }
}

void rendezvous::rank_ended(int rank) {
  rank_state& ended = m_ranks[static_cast<std::size_t>(rank)];
  ended.ended = true;
  if (ended.given) return;
  for (const auto& one : m_connections) {
    if (one->rank >= 0 && m_ranks[static_cast<std::size_t>(one->rank)].given) {
      send_failure(*one, fmt::format("rank {} has ended", rank));
    }
  }
  forget_closed();
}

std::string rendezvous::who_is_missing() const {
  std::vector<std::size_t> silent, never;
  for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
    if (!m_ranks[rank].given) (m_ranks[rank].connected ? silent : never).push_back(rank);
  }
  std::string text;
  if (!never.empty()) text = fmt::format("rank {} never connected", fmt::join(never, ", "));
  if (!silent.empty()) {
    text += fmt::format("{}rank {} did not come to the all_gather", text.empty() ? "" : "; ",
                        fmt::join(silent, ", "));
  }
  return text;
}

void rendezvous::refuse(connection& whom, const std::string& why) {
  if (!whom.fd) return;
  m_events.refused(fmt::format("refused {}: {}", whom.who(), why));
  send_failure(whom, why);
  whom.fd.reset();
}

void rendezvous::send_failure(connection& to, const std::string& why) {
  send(to, std::make_shared<const std::string>(wire::frame(
               wire::kind::failure, std::string_view(why).substr(0, wire::text_limit))));
}

void rendezvous::send(connection& to, std::shared_ptr<const std::string> bytes) {
  to.outgoing.push_back(std::move(bytes));
  flush(to);
}

void rendezvous::flush(connection& to) {
  while (to.fd && !to.outgoing.empty()) {
    const std::string& first = *to.outgoing.front();
    const ssize_t count = ::send(to.fd.get(), first.data() + to.sent_of_first,
                                 first.size() - to.sent_of_first, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return to.outgoing.clear();  // closed by the peer; its messages are still read
    to.sent_of_first += static_cast<std::size_t>(count);
    if (to.sent_of_first < first.size()) continue;
    to.outgoing.pop_front();
    to.sent_of_first = 0;
  }
}

void rendezvous::forget_closed() {
  std::erase_if(m_connections, [](const auto& one) { return !one->fd; });
}

}  // namespace starling::launch
