// SPDX-License-Identifier: Apache-2.0
#include "loopback_hub.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <starling/core/detail/system_resources.hpp>

namespace starling::detail {

loopback_hub::inbox::inbox() : bell(make_event_descriptor("a rank of the loopback network")) {}

loopback_hub::inbox::~inbox() { ::close(bell); }

void loopback_hub::inbox::ring() noexcept {
  const std::uint64_t one = 1;
  if (std::exchange(is_armed, false)) static_cast<void>(!::write(bell, &one, sizeof one));
}

bool loopback_hub::inbox::arm() noexcept {
  const std::lock_guard guard(lock);
  if (!received.empty() || !over.empty() || !lost.empty()) return false;
  std::uint64_t rung = 0;
  static_cast<void>(!::read(bell, &rung, sizeof rung));
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
  for (inbox& box : m_inboxes)
    while (message_block* b = box.received.pop()) {
      b->keeper = nullptr;
      message_block::destroy(b);
    }
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
    const auto fits = [&](const transfer* r) { return r->peer == from && r->tag == t.tag; };
    const auto found = std::ranges::find_if(box.wanted, fits);
    if (found != box.wanted.end()) {
      wanted = *found;
      box.wanted.erase(found);
    } else if (!box.gone.load()) {
      return box.offered.emplace_back(from, &t), void();
    }
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
    const auto fits = [&](const auto& o) { return o.first == t.peer && o.second->tag == t.tag; };
    const auto found = std::ranges::find_if(box.offered, fits);
    if (found != box.offered.end()) {
      offered = found->second;
      box.offered.erase(found);
    } else if (!of(t.peer).gone.load()) {
      return box.wanted.push_back(&t);
    }
  }
  if (offered != nullptr) return match(t.peer, to, *offered, t);
  end(to, t, verdict::peer_gone);
}

void loopback_hub::cancel_receive(int to, transfer& t) {
  inbox& box = of(to);
  {
    const std::lock_guard guard(box.lock);
    if (std::erase(box.wanted, &t) == 0) return;
  }
  end(to, t, verdict::cancelled);
}

void loopback_hub::cancel_transfers(int rank) {
  std::vector<transfer*> wanted;
  {
    const std::lock_guard guard(of(rank).lock);
    wanted.swap(of(rank).wanted);
  }
  for (transfer* t : wanted) end(rank, *t, verdict::cancelled);
  for (inbox& box : m_inboxes) {
    std::vector<transfer*> offered;
    {
      const std::lock_guard guard(box.lock);
      std::erase_if(box.offered, [&](const auto& o) {
        if (o.first == rank) offered.push_back(o.second);
        return o.first == rank;
      });
    }
    for (transfer* t : offered) end(rank, *t, verdict::cancelled);
  }
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
    end_transfers_of(of(other), rank);
    connection& c = between(other, rank);
    const std::lock_guard guard(c.lock);
    while (message_block* b = c.waiting.pop()) {
      message_block::destroy(b);
      of(other).sending.fetch_sub(1);
    }
  }
  std::vector<std::pair<int, transfer*>> offered;
  {
    const std::lock_guard guard(of(rank).lock);
    offered.swap(of(rank).offered);
  }
  for (const auto& [from, t] : offered) end(from, *t, verdict::peer_gone);
}

void loopback_hub::end_transfers_of(inbox& box, int gone) {
  std::vector<transfer*> ended;
  {
    const std::lock_guard guard(box.lock);
    const auto of_gone = [&](const transfer* t) { return t->peer == gone; };
    std::ranges::copy_if(box.wanted, std::back_inserter(ended), of_gone);
    std::erase_if(box.wanted, of_gone);
    std::erase_if(box.offered, [&](const auto& o) { return o.first == gone; });
    box.lost.push_back(gone);
    box.ring();
  }
  for (transfer* t : ended) end(box.rank, *t, verdict::peer_gone);
}

}  // namespace starling::detail
