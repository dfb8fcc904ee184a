// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/heap.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// Copies from block to block, eight bytes at a time; both have room for that.
template <class Byte>
constexpr void copy_block(Byte* to, const Byte* from, std::uint32_t bytes) noexcept {
  for (std::uint32_t i = 0; i < bytes; i += 8)
    __builtin_memcpy(__builtin_assume_aligned(to + i, 8), __builtin_assume_aligned(from + i, 8), 8);
}

/// The way out of a scheduler: messages wait in cells until `flush` puts them into the rings of
/// others. Messages to one scheduler keep their order. One thread uses it.
///
/// A message takes its ticket as soon as it is looked at, so that all senders of a device agree on
/// the order; one that waits for a block of the receiver takes it afterwards, because those with
/// earlier tickets must never wait for those with later ones.
template <class Group>
class outbox {
 public:
  constexpr outbox(const world& w, std::uint32_t self, cell_pool& cells,
                   scheduler_heap& heap) noexcept
      : m_world(&w), m_cells(&cells), m_heap(&heap), m_self(self), m_device(w.device_of(self)) {}

  [[nodiscard]] constexpr bool is_empty() const noexcept { return m_waiting.empty(); }
  [[nodiscard]] constexpr std::uint32_t waiting() const noexcept { return m_count; }
  /// Of these, for the host.
  [[nodiscard]] constexpr std::uint32_t to_host() const noexcept { return m_to_host; }
  /// Messages that have left, ever.
  [[nodiscard]] constexpr std::uint32_t gone() const noexcept { return m_gone; }
  /// Of these, waiting for a block.
  [[nodiscard]] constexpr std::uint32_t staged() const noexcept { return m_staged; }

  constexpr void add(std::uint32_t i, std::uint32_t destination) noexcept {
    cell& c = (*m_cells)[i];
    c.destination = destination;
    c.has_ticket = 0;
    m_cells->append(m_waiting, i);
    ++m_count;
    if (c.m.place() == payload_place::staged) ++m_staged;
    if (is_host(destination)) ++m_to_host;
  }

  /// Sends what there is room for.
  constexpr void flush() noexcept {
    m_held = 0;
    std::uint32_t before = no_cell;
    for (std::uint32_t i = m_waiting.first; i != no_cell;) {
      cell& c = (*m_cells)[i];
      const std::uint32_t next = c.next;
      if (is_sent(c)) {
        m_cells->unlink(m_waiting, before, i);
        if (is_host(c.destination)) --m_to_host;
        m_cells->give_back(i);
        --m_count;
        ++m_gone;
      } else {
        before = i;
      }
      i = next;
    }
  }

  /// A block of `destination` for this device, or ~0u where all are in use, or where messages wait
  /// for one, which later ones must not pass. Nor is there one for this scheduler itself: others
  /// may wait for that while its own messages do.
  [[nodiscard]] constexpr std::uint32_t take_block(std::uint32_t destination) noexcept {
    if (destination == m_self || m_staged != 0) return ~0u;
    return take_free_block(destination);
  }

 private:
  // Some destinations share a bit: then one waits with the other, which only delays it.
  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t destination) noexcept {
    return std::uint64_t(1) << (destination & 63);
  }
  [[nodiscard]] constexpr bool is_host(std::uint32_t destination) const noexcept {
    return destination == m_world->l.all_schedulers();
  }
  [[nodiscard]] constexpr std::uint32_t take_free_block(std::uint32_t destination) noexcept {
    std::uint64_t& mask = m_world->outgoing(m_device, destination)->free_blocks;
    for (std::uint64_t free = Group::load(&mask); free != 0; free = Group::load(&mask)) {
      std::uint32_t i = 0;
      while ((free >> i & 1) == 0) ++i;
      const std::uint64_t bit = std::uint64_t(1) << i;
      if ((Group::clear_bits(&mask, bit) & bit) != 0) return i;
    }
    return ~0u;
  }

  [[nodiscard]] constexpr bool is_sent(cell& c) noexcept {
    if (c.has_ticket == 0) {
      const std::uint64_t bit = bit_of(c.destination);
      if ((m_held & bit) != 0 || (c.m.place() == payload_place::staged && !move_to_receiver(c))) {
        m_held |= bit;
        return false;
      }
      c.ticket = Group::take_ticket(&m_world->outgoing(m_device, c.destination)->ticket);
      c.has_ticket = 1;
    }
    return put(c);
  }
  /// False where the ring has no room for the ticket yet.
  [[nodiscard]] constexpr bool put(const cell& c) noexcept {
    const int units = units_of(std::size_t(c.m.bytes));
    if (is_host(c.destination)) {
      host_link& link = *m_world->link;
      if (c.ticket - Group::load_acquire(&link.host_took[m_device * 32]) >= host_slots)
        return false;
      put_flagged<Group>(link.to_host[m_device][c.ticket & (host_slots - 1)], c.m, units,
                         c.ticket + 1);
      return true;
    }
    const std::uint32_t slots = m_world->l.ring_slots;
    const outgoing_ring& ring = *m_world->outgoing(m_device, c.destination);
    if (c.ticket - Group::load_acquire(&ring.taken) >= slots) return false;
    if (c.m.place() != payload_place::none) Group::release_data();
    Group::put(m_world->ring(c.destination, m_device)[c.ticket & (slots - 1)], c.m, units,
               c.ticket + 1);
    return true;
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
  cell_pool* m_cells;
  scheduler_heap* m_heap;
  cell_list m_waiting;
  std::uint64_t m_held = 0;    // destinations for which a message waits without a ticket
  std::uint32_t m_staged = 0;  // messages to others that wait for a block
  std::uint32_t m_to_host = 0;
  std::uint32_t m_gone = 0;
  std::uint32_t m_count = 0;
  std::uint32_t m_self;
  std::uint32_t m_device;
};

}  // namespace starling::resident::detail
