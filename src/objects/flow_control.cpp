// SPDX-License-Identifier: Apache-2.0
#include "flow_control.hpp"

#include <utility>

#include <starling/core/detail/worker.hpp>
#include <starling/objects/detail/message_receipt.hpp>
#include <starling/objects/detail/send_room.hpp>

namespace starling::detail {

bool flow_control::enlist(room_wait& w) noexcept {
  rank_flow& f = of(w.to);
  const std::lock_guard guard(f.lock);
  if (has_room(w.to)) return false;
  w.next = std::exchange(f.waits, &w);
  return true;
}

bool flow_control::withdraw(room_wait& w) noexcept {
  rank_flow& f = of(w.to);
  const std::lock_guard guard(f.lock);
  for (room_wait** link = &f.waits; *link != nullptr; link = &(*link)->next) {
    if (*link != &w) continue;
    *link = w.next;
    w.is_withdrawn = true;
    return true;
  }
  return false;
}

bool flow_control::take_report(int by, std::uint64_t sum) noexcept {
  rank_flow& f = of(by);
  if (sum > f.sent.load(std::memory_order_relaxed)) return false;
  room_wait* released = nullptr;
  {
    const std::lock_guard guard(f.lock);
    if (sum > f.acknowledged.load(std::memory_order_relaxed))
      f.acknowledged.store(sum, std::memory_order_relaxed);
    if (has_room(by)) released = std::exchange(f.waits, nullptr);
  }
  while (released != nullptr) {
    room_wait& w = *released;
    released = w.next;  // read first: the waiter is part of the frame that is resumed
    schedule(*w.waiting);
  }
  return true;
}

std::uint64_t flow_control::sent_in_all() const noexcept {
  std::uint64_t sum = 0 - m_by_tree.load(std::memory_order_relaxed);
  for (std::size_t r = 0; r < m_ranks; ++r) sum += m_of[r].sent.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t flow_control::note_processed(int from, std::uint64_t share) noexcept {
  constexpr std::uint64_t smallest_report = job::room_for_messages / 4;
  rank_flow& f = of(from);
  const std::uint64_t now = f.processed.fetch_add(share, std::memory_order_relaxed) + share;
  std::uint64_t reported = f.reported.load(std::memory_order_relaxed);
  while (now >= reported + smallest_report)
    if (f.reported.compare_exchange_weak(reported, now, std::memory_order_relaxed)) return now;
  return 0;
}

void message_receipt::give() noexcept { m_job->note_processed(m_from, m_bytes); }

bool room_wait::withdraw() noexcept { return by->withdraw(*this); }

}  // namespace starling::detail
