// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/heap.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The way out of a scheduler: messages wait in cells until `flush` puts them into the rings of
/// others. Messages to one scheduler keep their order. One thread uses it.
///
/// All senders of a device agree on the order in a ring by tickets. Who has one must use it as soon
/// as there is room, as others wait behind it: so a message takes its ticket when it seems to be
/// its turn, one that waits for a block of the receiver not before it has that, and those with
/// tickets are looked at in every flush.
template <class Group>
class outbox {
 public:
  constexpr outbox(const world& w, std::uint32_t self, cell_pool& cells,
                   scheduler_heap& heap) noexcept
      : m_world(&w), m_cells(&cells), m_heap(&heap), m_outgoing(w.outgoing(w.device_of(self), 0)),
        m_self(self), m_device(w.device_of(self)), m_host(w.l.all_schedulers()),
        m_slots(w.l.ring_slots) {}

  [[nodiscard]] constexpr bool is_empty() const noexcept { return m_count == 0; }
  [[nodiscard]] constexpr std::uint32_t waiting() const noexcept { return m_count; }
  /// Of these, for the host.
  [[nodiscard]] constexpr std::uint32_t to_host() const noexcept { return m_to_host; }
  /// Of these, waiting for a block.
  [[nodiscard]] constexpr std::uint32_t staged() const noexcept { return m_staged; }
  /// Messages that have left, ever.
  [[nodiscard]] constexpr std::uint32_t gone() const noexcept { return m_gone; }

  constexpr void add(cell* c, std::uint32_t destination) noexcept {
    c->destination = destination;
    m_cells->append(m_waiting, c);
    ++m_count;
    if (c->m.place() == payload_place::staged) ++m_staged;
    if (is_host(destination)) ++m_to_host;
  }

  /// Sends what there is room for. Of those without a ticket it looks at some, and at all now and
  /// then, so that much that waits does not make every turn long.
  constexpr void flush() noexcept {
    m_held = 0;
    ++m_flushes;
    walk(m_ticketed, ~std::uint32_t{0},
         [this](cell& c) { return put(c) ? fate::sent : fate::stays; });
    const std::uint32_t looks = m_flushes % whole_every == 0 ? ~std::uint32_t{0} : looks_at_once;
    walk(m_waiting, looks, [this](cell& c) { return try_to_send(c); });
  }

  /// A block of `destination` for this device, or ~0u where all are in use, or where messages wait
  /// for one, which later ones must not pass. Nor is there one for this scheduler itself: others
  /// may wait for that while its own messages do.
  [[nodiscard]] constexpr std::uint32_t take_block(std::uint32_t destination) noexcept {
    if (destination == m_self || m_staged != 0) return ~0u;
    return take_free_block(destination);
  }

 private:
  /// A ring to which messages went not long ago, and what its receiver had taken when it was asked.
  struct known_ring {
    std::uint32_t destination = ~std::uint32_t{0};
    std::uint32_t taken = 0;
    std::uint32_t full_in = 0;  // the last flush that found no room
    slot* slots = nullptr;
  };
  static constexpr std::uint32_t rings_known = 32;
  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint32_t whole_every = 16;

  // Some destinations share a bit: then one waits with the other, which only delays it.
  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t destination) noexcept {
    return std::uint64_t(1) << (destination & 63);
  }
  [[nodiscard]] constexpr bool is_host(std::uint32_t destination) const noexcept {
    return destination == m_host;
  }
  [[nodiscard]] constexpr std::uint32_t take_free_block(std::uint32_t destination) noexcept {
    std::uint64_t& mask = m_outgoing[destination].free_blocks;
    for (std::uint64_t free = Group::load(&mask); free != 0; free = Group::load(&mask)) {
      std::uint32_t i = 0;
      while ((free >> i & 1) == 0) ++i;
      const std::uint64_t bit = std::uint64_t(1) << i;
      if ((Group::clear_bits(&mask, bit) & bit) != 0) return i;
    }
    return ~0u;
  }

  /// What becomes of a message in a flush.
  enum class fate : std::uint8_t { sent, stays, has_ticket };

  template <class Try>
  constexpr void walk(cell_list& list, std::uint32_t looks, Try attempt) noexcept {
    cell* before = nullptr;
    for (cell* c = list.first; c != nullptr && looks != 0; --looks) {
      cell* const next = c->next;
      const fate f = attempt(*c);
      if (f == fate::stays) {
        before = c;
      } else {
        m_cells->unlink(list, before, c);
        f == fate::sent ? forget(c) : m_cells->append(m_ticketed, c);
      }
      c = next;
    }
  }
  constexpr void forget(cell* c) noexcept {
    if (is_host(c->destination)) --m_to_host;
    m_cells->give_back(c);
    --m_count;
    ++m_gone;
  }
  [[nodiscard]] constexpr fate try_to_send(cell& c) noexcept {
    const std::uint64_t bit = bit_of(c.destination);
    if ((m_held & bit) != 0) return fate::stays;
    if (ring_to(c.destination).full_in == m_flushes) return fate::stays;
    if (c.m.place() == payload_place::staged && !move_to_receiver(c)) {
      m_held |= bit;
      return fate::stays;
    }
    c.ticket = Group::take_ticket(&m_outgoing[c.destination].ticket);
    return put(c) ? fate::sent : fate::has_ticket;
  }
  /// False where the ring has no room for the ticket yet.
  [[nodiscard]] constexpr bool put(const cell& c) noexcept {
    known_ring& to = ring_to(c.destination);
    const std::uint32_t slots = is_host(c.destination) ? host_slots : m_slots;
    if (c.ticket - to.taken >= slots && !has_room_now(to, c.ticket, slots)) return false;
    slot& into = to.slots[c.ticket & (slots - 1)];
    const int units = units_of(std::size_t(c.m.bytes));
    if (c.m.has_data_elsewhere()) Group::release_data();
    if (is_host(c.destination))
      put_flagged<Group>(into, c.m, units, c.ticket + 1);
    else
      Group::put(into, c.m, units, c.ticket + 1);
    return true;
  }
  [[nodiscard]] constexpr known_ring& ring_to(std::uint32_t destination) noexcept {
    known_ring& known = m_known[destination % rings_known];
    if (known.destination == destination) return known;
    known.destination = destination;
    known.full_in = 0;
    known.taken = taken_from(destination);
    known.slots = is_host(destination) ? m_world->link->to_host[m_device]
                                       : m_world->ring(destination, m_device);
    return known;
  }
  [[nodiscard]] constexpr std::uint32_t taken_from(std::uint32_t destination) const noexcept {
    return Group::load_credit(is_host(destination) ? &m_world->link->host_took[m_device * 32]
                                                   : &m_outgoing[destination].taken);
  }
  /// Asks the receiver, where what it said last does not do; not again in a flush in which its ring
  /// was full.
  [[nodiscard]] constexpr bool has_room_now(known_ring& known, std::uint32_t ticket,
                                            std::uint32_t slots) noexcept {
    if (known.full_in == m_flushes) return false;
    known.taken = taken_from(known.destination);
    if (ticket - known.taken < slots) return true;
    known.full_in = m_flushes;
    return false;
  }
  /// Moves bytes from a block of one's own to one of the receiver's. False: it has none free.
  [[nodiscard]] constexpr bool move_to_receiver(cell& c) noexcept {
    const std::uint32_t block = take_free_block(c.destination);
    if (block == ~0u) return false;
    auto p = read_at<payload>(c.m, 0);
    copy_block(m_world->block(c.destination, m_device, block), m_heap->block(p.number), p.extra);
    m_heap->give_back(p.number);
    --m_staged;
    p.number = block;
    p.scheduler = static_cast<std::uint16_t>(c.destination);
    p.device = static_cast<std::uint8_t>(m_device);
    write_at(c.m, 0, p);
    c.m.set(c.m.kind(), payload_place::block, c.m.has_reference());
    return true;
  }

  const world* m_world;
  known_ring m_known[rings_known];
  cell_pool* m_cells;
  scheduler_heap* m_heap;
  cell_list m_ticketed;      // those whose rings were full when their tickets had been taken
  cell_list m_waiting;       // without tickets
  std::uint64_t m_held = 0;  // destinations for which a message waits for a block
  std::uint32_t m_flushes = 0;
  std::uint32_t m_staged = 0;  // messages to others that wait for a block
  std::uint32_t m_to_host = 0;
  std::uint32_t m_gone = 0;
  std::uint32_t m_count = 0;
  outgoing_ring* m_outgoing;  // by destination
  std::uint32_t m_self;
  std::uint32_t m_device;
  std::uint32_t m_host;
  std::uint32_t m_slots;
};

}  // namespace starling::resident::detail
