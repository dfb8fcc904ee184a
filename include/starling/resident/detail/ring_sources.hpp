// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The rings from which a scheduler receives: one for each source device, shared by its schedulers,
/// then the private rings that were opened. A poll covers the next slots of several rings, or some
/// slots of one ring that has more messages. All lanes of the receiver call all functions except
/// `open`.
template <class Group>
class ring_sources {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

 public:
  constexpr ring_sources(const world& w, std::uint32_t self) noexcept : m_count(w.l.devices) {
    for (std::uint32_t d = 0; d < m_count; ++d)
      m_rings[d] = source(w.ring(self, d), w.l.ring_slots, &w.outgoing(d, self)->taken);
  }

  /// Adds a private ring. Called by the leader, after it has taken all earlier messages of the
  /// sender.
  constexpr void open(const slot* slots, std::uint32_t size, std::uint32_t* taken) noexcept {
    m_rings[m_count] = source(slots, size, taken);
    Group::store_near(&m_count, m_count + 1);
  }
  /// Returns the number of rings. Called by one thread.
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return m_count; }

  /// The slot that a lane polls next. Each lane keeps a view, because to compute it takes as long
  /// as a poll.
  struct view {
    const slot* at = nullptr;
    std::uint32_t wanted = 0;  // number of the message that is polled for
    std::uint32_t ring = 0;
    std::uint32_t rings = 0;
    // The following are equal in all lanes.
    std::uint32_t turn = 0;     // first ring of the poll
    std::uint32_t last = none;  // first ring that had a message in the last poll
    bool in_a_row = false;      // all lanes poll one ring
    bool is_flood = false;      // the last poll of that ring by all lanes took many short messages
    bool stays = false;         // the view does not change as long as no message arrives
  };
  [[nodiscard]] constexpr typename Group::some_slots look(const view& v) const noexcept {
    return Group::look(*v.at, v.wanted, v.in_a_row && v.is_flood);
  }
  /// After a poll: stores credits for senders at intervals, and selects the next slots to poll.
  constexpr void advance(view& v, const typename Group::some_slots& found,
                         const some_taken& taken) noexcept {
    const std::uint32_t here =
        v.in_a_row && taken.count != 0 ? (Group::lane() == 0 ? taken.count : 0) : taken.here;
    if (here != 0) move_on(m_rings[v.ring], here);
    const std::uint32_t first = taken.count == 0 ? none
                                : v.in_a_row     ? v.turn
                                                 : from_turn(v, taken.first);
    // A ring that had the first message in two successive polls has more messages.
    const bool has_more = !v.in_a_row && first != none && first == v.last;
    if (v.in_a_row)
      v.is_flood = found.is_flood(taken.count);
    else if (first != none && first != v.last)
      v.is_flood = false;
    const bool had_none = !v.in_a_row && first == none;
    v.turn = has_more ? first : from_turn(v, had_none ? Group::slots_at_once : 1);
    if (first != none || v.rings <= Group::slots_at_once) v.last = first;
    v.in_a_row = has_more;
    aim(v);
  }
  /// Selects the slot that the calling lane polls next. Called by all lanes, each with its view.
  constexpr void aim(view& v) noexcept {
    Group::sync_lanes();  // all lanes have written
    v.rings = Group::of_first_lane(Group::load_near(&m_count));
    if (v.rings == 1) v.in_a_row = true;
    v.stays = v.rings <= Group::slots_at_once && v.in_a_row == (v.rings == 1) &&
              !(v.in_a_row && v.is_flood);
    const std::uint32_t which = Group::which_slot(v.in_a_row && v.is_flood);
    v.ring = v.in_a_row ? v.turn : from_turn(v, which);
    const source& from = m_rings[v.ring];
    const std::uint32_t number = from.received + (v.in_a_row ? which : 0);
    v.at = from.slots + (number & from.mask);
    // If there are fewer rings than polled slots, the remaining lanes wait for the number after the
    // next, which never is in that slot.
    v.wanted = number + (v.in_a_row || which < v.rings ? 1 : 2);
    Group::sync_lanes();  // all lanes have read
  }

 private:
  struct alignas(16) source {
    constexpr source() noexcept = default;
    constexpr source(const slot* ring, std::uint32_t size, std::uint32_t* told_at) noexcept
        : slots(ring), taken(told_at), mask(size - 1) {}
    const slot* slots = nullptr;
    std::uint32_t* taken = nullptr;  // where the credit for the ring's senders is stored
    std::uint32_t mask = 0;
    std::uint32_t received = 0;
    std::uint32_t told = 0;  // `received` as last stored to `taken`
  };

  [[nodiscard]] static constexpr std::uint32_t from_turn(const view& v, std::uint32_t n) noexcept {
    const std::uint32_t ring = v.turn + (n < v.rings ? n : 0);
    return ring < v.rings ? ring : ring - v.rings;
  }
  constexpr void move_on(source& ring, std::uint32_t taken) const noexcept {
    ring.received += taken;
    // At intervals of a quarter of the ring: rarely enough to cost little, often enough that
    // senders need not wait.
    if (ring.received - ring.told < (ring.mask + 1) / 4) return;
    ring.told = ring.received;
    Group::store_credit(ring.taken, ring.received);
  }

  source m_rings[max_devices + most_private_rings];
  std::uint32_t m_count;
};

}  // namespace starling::resident::detail
