// SPDX-License-Identifier: Apache-2.0
#include "heartbeat.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include <starling/core/detail/system_resources.hpp>

namespace starling::detail {
namespace {

/// Number of ranks to which each rank sends: more than one, so that a stopped rank is missed
/// although some of its receivers have failed, too.
constexpr int fan = 3;

siphash_key random_key() {
  siphash_key key{};
  if (::getrandom(key.data(), sizeof key, 0) != sizeof key)
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return key;
}

}  // namespace

heartbeat::heartbeat(bootstrap& ranks, const std::vector<bool>& is_near,
                     std::chrono::milliseconds interval, loss_handler on_loss)
    : m_rank(ranks.rank()), m_interval(interval), m_on_loss(std::move(on_loss)),
      m_peers(is_near.size()) {
  if (std::ranges::find(is_near, false) != is_near.end())
    m_far.emplace(beat_socket::reach::network);
  // All ranks use the key of rank 0. Programs outside the job have no access to the bootstrap.
  const siphash_key mine = random_key();
  const std::vector<std::string> all = ranks.all_gather(fmt::format(
      "{} {} {} {}", m_near.address(), m_far ? m_far->address() : "-", mine[0], mine[1]));
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::istringstream words(all[r]);
    std::string near, far;
    siphash_key key{};
    words >> near >> far >> key[0] >> key[1];
    if (r == 0) m_key = key;
    m_peers[r].address = beat_socket::parse(is_near[r] ? near : far);
    m_peers[r].by = is_near[r] ? &m_near : &*m_far;
  }
  send_alive();  // from here on other ranks miss this rank when it is silent
}

heartbeat::~heartbeat() {
  if (!m_thread.joinable()) return;
  ::eventfd_write(m_end.get(), 1);
  m_thread.join();
  for (peer& p : m_peers) send(p, what::goodbye);
}

void heartbeat::start() {
  if (m_interval.count() == 0 || m_peers.size() < 2) return;
  m_end.reset(make_event_descriptor("the end of heartbeats"));
  m_thread = start_helper_thread("starling-beat", [this] { run(); });
}

void heartbeat::run() noexcept {
  const auto limit = patience * m_interval;
  clock::time_point next_beat = clock::now();
  for (pollfd end{m_end.get(), POLLIN, 0}; ::poll(&end, 1, 0) == 0;) {
    clock::time_point wake = next_beat;
    for (const peer& p : m_peers)
      if (p.heard) wake = std::min(wake, *p.heard + limit);
    wait_until(wake);
    listen();
    const auto now = clock::now();
    // If this thread is so late, its process was stopped; heartbeats may have been lost during that
    // time.
    if (now > wake + m_interval)
      for (peer& p : m_peers)
        if (p.heard) p.heard = now;
    if (now >= next_beat) {
      send_alive();
      next_beat = now + m_interval;
    }
    look();
  }
}

/// Waits until the time `when`, until a datagram arrives, or until the thread must end.
void heartbeat::wait_until(clock::time_point when) const noexcept {
  pollfd polled[] = {{m_end.get(), POLLIN, 0},
                     {m_near.descriptor(), POLLIN, 0},
                     {m_far ? m_far->descriptor() : -1, POLLIN, 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - clock::now()).count();
  static_cast<void>(::poll(polled, 3, int(std::clamp<long>(long(left), 0, 1'000'000))));
}

void heartbeat::listen() {
  beat b{};
  while (m_near.receive(std::as_writable_bytes(std::span(&b, 1)))) take(b);
  while (m_far && m_far->receive(std::as_writable_bytes(std::span(&b, 1)))) take(b);
}

void heartbeat::take(const beat& b) {
  if (b.from >= m_peers.size() || b.code != code_of(b)) return;  // not sent by a rank of the job
  peer& from = m_peers[b.from];
  if (b.number <= from.last_number) return;  // a replay, or out of order
  from.last_number = b.number;
  if (b.kind == std::uint64_t(what::goodbye))
    from.heard.reset();
  else if (is_watched(int(b.from)))
    from.heard = clock::now();
  if (b.kind == std::uint64_t(what::lost) && b.about < m_peers.size() && int(b.about) != m_rank)
    lose(int(b.about), std::chrono::milliseconds(b.silence_ms));
}

void heartbeat::look() {
  const auto now = clock::now();
  for (int rank = 0; rank < int(m_peers.size()); ++rank) {
    peer& p = m_peers[std::size_t(rank)];
    if (!p.heard || now - *p.heard < patience * m_interval) continue;
    const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(now - *p.heard);
    for (peer& other : m_peers) send(other, what::lost, rank, silence);
    lose(rank, silence);
  }
}

void heartbeat::lose(int rank, std::chrono::milliseconds silence) {
  peer& p = m_peers[std::size_t(rank)];
  p.heard.reset();
  if (!std::exchange(p.is_told, true)) m_on_loss(rank, silence);
}

void heartbeat::send_alive() noexcept {
  const int size = int(m_peers.size());
  if (m_interval.count() == 0) return;
  for (int steps = 1; steps <= std::min(fan, size - 1); ++steps)
    send(m_peers[std::size_t((m_rank + steps) % size)], what::alive);
}

void heartbeat::send(peer& to, what kind, int about, std::chrono::milliseconds silence) noexcept {
  if (!to.address || &to == &m_peers[std::size_t(m_rank)]) return;
  beat b{std::uint64_t(m_rank),          ++m_sent, std::uint64_t(kind), std::uint64_t(about),
         std::uint64_t(silence.count()), 0};
  b.code = code_of(b);
  to.by->send(*to.address, std::as_bytes(std::span(&b, 1)));
}

std::uint64_t heartbeat::code_of(const beat& b) const noexcept {
  constexpr std::size_t words_before_code = offsetof(beat, code) / sizeof b.code;
  return siphash(m_key, {reinterpret_cast<const std::uint64_t*>(&b), words_before_code});
}

bool heartbeat::is_watched(int rank) const noexcept {
  const int size = int(m_peers.size());
  const int steps = (m_rank - rank + size) % size;
  return steps > 0 && steps <= fan;
}

}  // namespace starling::detail
