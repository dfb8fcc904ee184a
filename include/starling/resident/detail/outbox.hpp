// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/heap.hpp>
#include <starling/resident/detail/private_rings.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// The outgoing messages of a scheduler. A message is sent at once if possible (`reserve`);
/// otherwise it waits in a cell until `flush` writes it into the ring of its destination. Messages
/// to one scheduler keep their order. Used by one thread.
///
/// All senders of a device share one ring to each destination and order their messages by tickets.
/// Later tickets wait for earlier ones, so a ticket must be used as soon as there is room: a
/// message takes a ticket when there seems to be room and its payload block, if it needs one, is
/// allocated. Each flush tries some of the messages with tickets.
///
/// Taking a ticket takes as long as the rest of a send. So a frequent sender to one scheduler
/// claims one of its few private rings (`seek_private_ring`), which need no tickets.
///
/// Reading the progress of a destination takes as long as a send. So a flush reads it for a few
/// rings; while more messages stay than leave, the next flushes try messages with tickets only.
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
  /// Returns the waiting messages to the host.
  [[nodiscard]] constexpr std::uint32_t to_host() const noexcept { return m_to_host; }
  /// Returns the messages that wait for a payload block.
  [[nodiscard]] constexpr std::uint32_t staged() const noexcept { return m_staged; }
  /// Returns the number of messages that have left so far.
  [[nodiscard]] constexpr std::uint32_t gone() const noexcept { return m_gone; }

  /// A slot in a destination's ring, or none.
  struct reservation {
    slot* into = nullptr;  // null: the message must be added
    std::uint32_t ticket = 0;
    bool has_ticket = false;
    bool is_beside = false;  // on this device
  };
  /// Reserves a slot for a message that is to be sent at once: if no message waits, as it must not
  /// overtake one, and a shared ring was at most half full. If other senders have filled the ring
  /// since, only a ticket is reserved: it is kept until the next flush and later messages wait,
  /// because a check would take as long as a send. A reserved ticket must be used.
  [[nodiscard]] constexpr reservation reserve(std::uint32_t destination) noexcept {
    if constexpr (!Group::reaches_all) return {};  // it would be slow for far memory, and much code
    known_ring& to = m_known[destination % rings_known];
    // No branches between the loads: each would wait for its own load.
    const bool is_sure = to.ticket != to.sure_upto;
    const std::uint32_t elsewhere = m_count | (to.destination ^ destination);
    if ((elsewhere | std::uint32_t(!is_sure)) == 0) return next_in_private(to);
    return elsewhere == 0 ? reserve_asking(to) : reservation{};
  }
  /// Writes a message of `units` units into a reserved slot.
  constexpr void put(const reservation& r, const message& m, int units) noexcept {
    put_into(*r.into, m, units, r.ticket, r.is_beside);
    ++m_gone;
  }
  /// Adds a message without a slot. It waits for one, with the ticket of `r` if `r` has one.
  constexpr void add(cell* c, std::uint32_t destination, const reservation& r = {}) noexcept {
    c->destination = destination;
    c->ticket = r.ticket;
    ++m_count;
    if (r.has_ticket) return add_ticketed(c);
    m_cells->append(m_waiting, c);
    if (c->m.storage() == payload_storage::staged) ++m_staged;
    if (is_host(destination)) ++m_to_host;
  }

  /// Sends messages as far as there is room. Tries some of the messages without a ticket, and all
  /// at intervals, so that many waiting messages do not make every flush long.
  constexpr void flush() noexcept {
    m_held = 0;
    ++m_flushes;
    m_asks_left = asks_at_once;
    if (!m_ticketed.empty()) put_ticketed();
    if (m_skips != 0 && m_count > looks_at_once) {
      --m_skips;
      return;
    }
    m_skips = 0;
    const std::uint32_t gone = m_gone;
    const bool is_whole = ++m_walks % whole_every == 0;
    m_asks_left = is_whole ? everything : asks_at_once;
    walk_waiting(is_whole ? everything : looks_at_once);
    const bool is_much = m_count > looks_at_once && m_gone - gone < m_count;
    if (is_much) m_skips = skips_when_full;
  }

  /// Takes a payload block of `destination` for this device. Returns ~0u if all blocks are in use,
  /// or if messages wait for one, which later messages must not overtake; if the destination is
  /// this scheduler, because other senders may need its blocks while its own messages wait; and for
  /// far memory.
  [[nodiscard]] constexpr std::uint32_t take_block(std::uint32_t destination) noexcept {
    if (destination == m_self || m_staged != 0 || is_far(destination)) return ~0u;
    return take_free_block(destination);
  }

  /// Called at intervals: claims a private ring to a frequent destination, if one is free.
  constexpr void seek_private_ring() noexcept {
    if constexpr (!Group::reaches_all) return;
    if (m_count != 0 || m_cells->left() == 0) return;
    const std::uint32_t destination = m_private.wanted();
    if (destination == nowhere) return;
    known_ring& to = ring_to(destination);
    if (!to.is_refused) take_private_ring(to);
  }

  /// Returns whether the memory of a scheduler is not mapped on this device.
  [[nodiscard]] constexpr bool is_far(std::uint32_t scheduler) const noexcept {
    if constexpr (Group::reaches_all)
      return false;
    else
      return detail::is_far(m_world->line(scheduler));
  }

 private:
  static constexpr std::uint32_t nowhere = private_rings<Group>::nowhere;
  /// A recently used ring, with the progress of its destination as last read.
  struct alignas(16) known_ring {
    std::uint32_t destination = nowhere;
    std::uint32_t ticket = 0;     // the next one; shared ring: a lower bound
    std::uint32_t sure_upto = 0;  // private ring: tickets below it have room; shared: `ticket`
    std::uint32_t mask = 0;       // slots - 1; the slots are a power of two
    slot* slots = nullptr;
    outgoing_ring* senders = nullptr;
    std::uint32_t taken = 0;    // messages taken by the destination, as last read
    std::uint32_t full_in = 0;  // number of the last flush that found the ring full
    bool is_beside = false;     // the destination is on this device
    bool is_private = false;    // used by this sender only
    bool is_refused = false;    // the destination had no private ring left
  };
  static constexpr std::uint32_t rings_known = 128;
  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint32_t whole_every = 16;
  static constexpr std::uint32_t tickets_at_once = 4;  // messages with a ticket tried in a flush
  static constexpr std::uint32_t asks_at_once = 4;
  static constexpr std::uint32_t everything = ~std::uint32_t{0};
  static constexpr std::uint32_t skips_when_full = 7;

  // Destinations may share a bit. They then delay each other's messages, which is harmless.
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

  /// Returns the next slot of a private ring that has room.
  [[nodiscard]] constexpr reservation next_in_private(known_ring& to) noexcept {
    const std::uint32_t ticket = to.ticket;
    to.ticket = ticket + 1;
    return {&to.slots[ticket & to.mask], ticket, true, to.is_beside};
  }
  [[nodiscard]] constexpr reservation reserve_asking(known_ring& to) noexcept {
    if (to.is_private) {
      learn(to);
      return to.ticket != to.sure_upto ? next_in_private(to) : reservation{};
    }
    if (to.ticket - to.taken >= (to.mask + 1) / 2) return {};
    const std::uint32_t ticket = Group::take_ticket(&to.senders->ticket);
    to.taken = Group::load_credit(&to.senders->taken);  // loaded while the ticket is in flight
    set_ticket(to, ticket + 1);
    m_private.note_shared(to.destination);
    slot* const into = fits(to, ticket) ? &to.slots[ticket & to.mask] : nullptr;
    return {into, ticket, true, to.is_beside};
  }
  /// Claims a private ring; called while no message waits. The last message in the shared ring
  /// announces it and must leave at once: the receiving scheduler polls the new ring only after it.
  constexpr void take_private_ring(known_ring& to) noexcept {
    scheduler_line& receiver = *m_world->line(to.destination);
    const std::uint32_t number = m_private.claim(receiver);
    to.is_refused = number == no_ring;
    if (to.is_refused) return;
    const reservation last = reserve(to.destination);
    const bool goes = last.into != nullptr;
    message m{};
    m.set(message_kind::private_ring);
    m.bytes = sizeof(private_opening);
    write_at(m, 0, private_opening{goes ? number : no_ring, m_self, m_private.count()});
    if (goes) {
      put(last, m, units_of(sizeof(private_opening)));
      m_private.add(to.destination, number);
      return use_private(to, m_private.count() - 1);
    }
    m_private.give_back(receiver, number);  // tried again later; the ticket, if any, must be used
    if (!last.has_ticket) return;
    cell* const c = m_cells->take();
    c->m = m;
    add(c, to.destination, last);
  }
  constexpr void use_private(known_ring& known, std::uint32_t which) noexcept {
    known.is_private = true;
    known.mask = m_world->l.private_ring_slots() - 1;
    known.slots = m_world->private_ring(known.destination, m_private.number(which));
    known.senders = &m_world->line(m_self)->private_out[which];
    known.ticket = Group::load(&known.senders->ticket);
    learn(known);
  }

  /// The result of an attempt to send a message in a flush.
  enum class fate : std::uint8_t { sent, stays, has_ticket };

  constexpr void walk_waiting(std::uint32_t looks) noexcept {
    cell* before = nullptr;
    for (cell* c = m_waiting.first; c != nullptr && looks != 0; --looks) {
      cell* const next = c->next;
      const fate f = try_to_send(*c);
      if (f != fate::stays) {
        m_cells->unlink(m_waiting, before, c);
        f == fate::sent ? forget(c) : add_ticketed(c);
      } else {
        before = c;
      }
      c = next;
    }
  }
  constexpr void add_ticketed(cell* c) noexcept {
    m_cells->append(m_ticketed, c);
    ++m_ticketed_count;
  }
  /// Tries messages with tickets in turn; in the ring they are ordered by ticket.
  constexpr void put_ticketed() noexcept {
    std::uint32_t looks = m_ticketed_count < tickets_at_once ? m_ticketed_count : tickets_at_once;
    for (; looks != 0; --looks) {
      cell* const c = m_cells->pop(m_ticketed);
      --m_ticketed_count;
      try_put(*c, ring_to(c->destination), c->ticket) ? forget(c) : add_ticketed(c);
    }
  }
  constexpr void forget(cell* c) noexcept {
    if (is_host(c->destination)) --m_to_host;
    m_cells->give_back(c);
    --m_count;
    ++m_gone;
  }
  [[nodiscard]] constexpr fate try_to_send(cell& c) noexcept {
    const std::uint32_t destination = c.destination;
    if ((m_held & bit_of(destination)) != 0) return fate::stays;
    known_ring& to = ring_to(destination);
    if (!seems_to_have_room(to)) {
      to.full_in = m_flushes;  // even if the progress was not read: later messages must wait, too
      return fate::stays;
    }
    if (c.m.storage() == payload_storage::staged)
      if (!move_to_receiver(c)) {
        m_held |= bit_of(destination);
        return fate::stays;
      }
    const std::uint32_t ticket =
        to.is_private ? to.ticket : Group::take_ticket(&to.senders->ticket);
    set_ticket(to, ticket + 1);
    if (try_put(c, to, ticket)) return fate::sent;
    c.ticket = ticket;
    return fate::has_ticket;
  }
  /// Writes a message into the slot of its ticket, in a ring of a scheduler or, if `to_host`, of
  /// the host; first releases data that the group wrote outside the message.
  constexpr void put_into(slot& into, const message& m, int units, std::uint32_t ticket,
                          bool is_beside, bool to_host = false) noexcept {
    if (m.has_data_elsewhere()) is_beside ? Group::release_beside() : Group::release_data();
    if (to_host)
      put_flagged<Group>(into, m, units, ticket + 1);
    else
      Group::put(into, m_world->line(m_self)->image, m, units, ticket + 1);
  }
  /// Writes a message at its ticket. Returns false where the ring has no room for it yet.
  [[nodiscard]] constexpr bool try_put(const cell& c, known_ring& to,
                                       std::uint32_t ticket) noexcept {
    if (!fits(to, ticket) && !has_room_now(to, ticket)) return false;
    put_into(to.slots[ticket & to.mask], c.m, units_of(std::size_t(c.m.bytes)), ticket,
             to.is_beside, is_host(to.destination));
    return true;
  }
  [[nodiscard]] constexpr known_ring& ring_to(std::uint32_t destination) noexcept {
    known_ring& known = m_known[destination % rings_known];
    if (known.destination == destination) return known;
    // Recorded before `known` is reused: this flush has found the ring full.
    if (known.full_in == m_flushes) m_held |= bit_of(known.destination);
    // Kept there until the ring is used again.
    if (known.is_private) Group::store(&known.senders->ticket, known.ticket);
    known = {};
    known.destination = destination;
    known.mask = (is_host(destination) ? host_slots : m_slots) - 1;
    known.slots = is_host(destination) ? m_world->link->to_host[m_device]
                                       : m_world->ring(destination, m_device);
    known.senders = &m_outgoing[destination];
    known.is_beside = !is_host(destination) && m_world->device_of(destination) == m_device;
    const std::uint32_t which = m_private.find(destination);
    which == m_private.count() ? learn(known) : use_private(known, which);
    return known;
  }
  /// Returns whether a ring seems to have room for a next ticket. Other senders may fill it.
  [[nodiscard]] constexpr bool seems_to_have_room(known_ring& known) noexcept {
    // Without a read left, a ticket that turns out to be too far could not be used at once.
    if (fits(known, known.ticket)) return known.full_in != m_flushes && m_asks_left != 0;
    return ask(known) && judge(known, known.ticket) && m_asks_left != 0;
  }
  /// Reads again whether a ring that was full has room for a ticket.
  [[nodiscard]] constexpr bool has_room_now(known_ring& known, std::uint32_t ticket) noexcept {
    return ask(known) && judge(known, ticket);
  }
  /// Reads a ring's progress. Returns false if this flush found it full or has no reads left.
  [[nodiscard]] constexpr bool ask(known_ring& known) noexcept {
    if (known.full_in == m_flushes || m_asks_left == 0) return false;
    --m_asks_left;
    learn(known);
    return true;
  }
  constexpr void learn(known_ring& known) const noexcept {
    if (!known.is_private) set_ticket(known, Group::load(&known.senders->ticket));
    known.taken =
        Group::load_credit(is_host(known.destination) ? &m_world->link->host_took[m_device * 32]
                                                      : &known.senders->taken);
    if (known.is_private) known.sure_upto = known.taken + known.mask + 1;
  }
  static constexpr void set_ticket(known_ring& known, std::uint32_t ticket) noexcept {
    known.ticket = ticket;
    if (!known.is_private) known.sure_upto = ticket;
  }
  [[nodiscard]] constexpr bool judge(known_ring& known, std::uint32_t ticket) const noexcept {
    if (fits(known, ticket)) return true;
    known.full_in = m_flushes;
    return false;
  }
  /// Signed: the destination may already be past that ticket.
  [[nodiscard]] static constexpr bool fits(const known_ring& known, std::uint32_t ticket) noexcept {
    return static_cast<std::int32_t>(ticket - known.taken) <= static_cast<std::int32_t>(known.mask);
  }
  /// Moves a span from the heap to a block of the destination. Returns false if none is free.
  [[nodiscard]] constexpr bool move_to_receiver(cell& c) noexcept {
    const std::uint32_t block = take_free_block(c.destination);
    if (block == ~0u) return false;
    auto p = read_at<payload>(c.m, 0);
    Group::copy(m_world->block(c.destination, m_device, block), m_heap->block(p.number), p.extra);
    m_heap->give_back(p.number);
    --m_staged;
    p.number = block;
    p.scheduler = static_cast<std::uint16_t>(c.destination);
    p.device = static_cast<std::uint8_t>(m_device);
    write_at(c.m, 0, p);
    c.m.set(c.m.kind(), payload_storage::block, c.m.has_reference());
    return true;
  }

  const world* m_world;
  known_ring m_known[rings_known];
  private_rings<Group> m_private;
  cell_pool* m_cells;
  scheduler_heap* m_heap;
  cell_list m_ticketed;      // messages with tickets, whose rings were full
  cell_list m_waiting;       // messages without tickets
  std::uint64_t m_held = 0;  // bits of destinations that get no more messages in this flush
  std::uint32_t m_flushes = 0;
  std::uint32_t m_walks = 0;      // flushes that tried messages without a ticket
  std::uint32_t m_asks_left = 0;  // progress reads left in this flush
  std::uint32_t m_skips = 0;      // flushes that try tickets only
  std::uint32_t m_ticketed_count = 0;
  std::uint32_t m_staged = 0;  // messages that wait for a payload block
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
