// SPDX-License-Identifier: Apache-2.0
#include "loopback_hub.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

namespace starling::detail {
namespace {

using transfers = loopback_hub::transfers;

/// Removes and returns the first transfer with `rank` and `tag`; null if there is none.
transfer* take_one(transfers& from, int rank, std::uint64_t tag) {
  const auto fits = [&](const auto& o) { return o.first == rank && o.second->tag == tag; };
  const auto found = std::ranges::find_if(from, fits);
  if (found == from.end()) return nullptr;
  transfer* const taken = found->second;
  from.erase(found);
  return taken;
}

/// Selects transfers by the rank at the other end.
auto with(int rank) {
  return [rank](const auto& o) { return o.first == rank; };
}

/// Removes and returns the transfers with `rank`. @throws std::bad_alloc, and removes none
transfers take_all(transfers& from, int rank) {
  transfers taken;
  std::ranges::copy_if(from, std::back_inserter(taken), with(rank));
  std::erase_if(from, with(rank));
  return taken;
}

}  // namespace

void loopback_hub::inbox::ring() noexcept {
  if (std::exchange(is_armed, false)) ::eventfd_write(bell.get(), 1);
}

bool loopback_hub::inbox::arm() noexcept {
  const std::lock_guard guard(lock);
  if (!received.empty() || !over.empty() || !lost.empty()) return false;
  eventfd_t rung = 0;
  ::eventfd_read(bell.get(), &rung);
  is_armed = true;
  return true;
}

void loopback_hub::inbox::destroyed(int from, std::size_t bytes) noexcept {
  hub->give_back(from, rank, window_share(bytes));
}

loopback_hub::loopback_hub(int size, const transport::options& options)
    : m_size(size), m_inboxes(std::size_t(size)) {
  for (int rank = 0; rank < size; ++rank) {
    of(rank).hub = this;
    of(rank).rank = rank;
  }
  for (int i = 0; i < size * size; ++i)
    m_connections.push_back(std::make_unique<connection>(options.window));
}

loopback_hub::~loopback_hub() {
  for (inbox& box : m_inboxes) box.received.forget();
}

void loopback_hub::send(int from, int to, message_block* b) noexcept {
  inbox& target = of(to);
  if (target.gone.load()) return message_block::destroy(b);
  b->from = from;
  // To itself: no window, because back-pressure would slow down the receiver, too.
  if (from == to) {
    const std::lock_guard guard(target.lock);
    target.received.push(b);
    return target.ring();
  }
  connection& c = between(from, to);
  const std::lock_guard guard(c.lock);
  if (target.gone.load()) return message_block::destroy(b);
  if (c.waiting.empty() && c.window.admits(*b)) return pass_on(c, target, b);
  of(from).sending.fetch_add(1);
  c.waiting.push(b);
}

void loopback_hub::pass_on(connection& c, inbox& to, message_block* b) noexcept {
  c.window.take(window_share(b->size));
  b->keeper = &to;
  const std::lock_guard guard(to.lock);
  to.received.push(b);
  to.ring();
}

void loopback_hub::give_back(int from, int to, std::size_t share) noexcept {
  connection& c = between(from, to);
  const std::lock_guard guard(c.lock);
  c.window.give_back(share);
  while (!c.waiting.empty() && c.window.admits(c.waiting.front())) {
    pass_on(c, of(to), c.waiting.pop());
    of(from).sending.fetch_sub(1);
  }
}

bool loopback_hub::is_congested(int from, int to) noexcept {
  connection& c = between(from, to);
  const std::lock_guard guard(c.lock);
  return !c.waiting.empty();
}

void loopback_hub::start_send(int from, transfer& t) {
  t.state = {};
  inbox& box = of(t.peer);
  transfer* wanted = nullptr;
  of(from).sending_memory.fetch_add(1);
  {
    const std::lock_guard guard(box.lock);
    wanted = take_one(box.wanted, from, t.tag);
    if (wanted == nullptr && !box.gone.load()) return box.offered.push_back({from, &t});
  }
  if (wanted != nullptr) return match(from, t.peer, t, *wanted);
  end(from, t, verdict::peer_gone);
}

void loopback_hub::start_receive(int to, transfer& t) {
  inbox& box = of(to);
  transfer* offered = nullptr;
  t.state = {};
  t.state.is_receive = true;
  {
    const std::lock_guard guard(box.lock);
    offered = take_one(box.offered, t.peer, t.tag);
    if (offered == nullptr && !of(t.peer).gone.load()) return box.wanted.push_back({t.peer, &t});
  }
  if (offered != nullptr) return match(t.peer, to, *offered, t);
  end(to, t, verdict::peer_gone);
}

void loopback_hub::cancel_receive(int to, transfer& t) {
  inbox& box = of(to);
  {
    const std::lock_guard guard(box.lock);
    if (std::erase(box.wanted, std::pair(t.peer, &t)) == 0) return;
  }
  end(to, t, verdict::cancelled);
}

void loopback_hub::cancel_transfers(int rank) {
  transfers cancelled;
  {
    const std::lock_guard guard(of(rank).lock);
    cancelled.swap(of(rank).wanted);
  }
  for (inbox& box : m_inboxes) {
    const std::lock_guard guard(box.lock);
    std::ranges::copy(take_all(box.offered, rank), std::back_inserter(cancelled));
  }
  for (const auto& [other, t] : cancelled) end(rank, *t, verdict::cancelled);
}

void loopback_hub::match(int from, int to, transfer& sent, transfer& received) {
  received.state.received = sent.bytes;
  const bool fits = sent.bytes == received.bytes;
  if (fits && sent.bytes != 0) std::memcpy(received.data, sent.data, sent.bytes);
  end(to, received, fits ? verdict::good : verdict::wrong_size);
  end(from, sent, verdict::good);
}

void loopback_hub::end(int rank, transfer& t, verdict v) {
  inbox& box = of(rank);
  t.state.status = static_cast<int>(v);
  const std::lock_guard guard(box.lock);
  box.over.push_back(&t);
  box.ring();
}

void loopback_hub::kill(int rank) {
  if (of(rank).gone.exchange(true)) return;
  for (int other = 0; other < m_size; ++other) {
    if (other == rank) continue;
    inbox& box = of(other);
    transfers ended;
    {
      const std::lock_guard guard(box.lock);
      ended = take_all(box.wanted, rank);
      std::erase_if(box.offered, with(rank));
      box.lost.push_back(rank);
      box.ring();
    }
    for (const auto& [gone, t] : ended) end(other, *t, verdict::peer_gone);
    connection& c = between(other, rank);
    const std::lock_guard guard(c.lock);
    while (message_block* b = c.waiting.pop()) {
      message_block::destroy(b);
      box.sending.fetch_sub(1);
    }
  }
  transfers offered;
  {
    const std::lock_guard guard(of(rank).lock);
    offered.swap(of(rank).offered);
  }
  for (const auto& [from, t] : offered) end(from, *t, verdict::peer_gone);
}

}  // namespace starling::detail
