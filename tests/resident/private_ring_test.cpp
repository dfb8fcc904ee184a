// SPDX-License-Identifier: Apache-2.0
// Private rings: which senders get one, the order with earlier messages, and the handling of full
// and released rings. Outbox and inbox of schedulers, without a program.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <starling/resident/detail/host_group.hpp>
#include <starling/resident/detail/inbox.hpp>
#include <starling/resident/detail/outbox.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling_test {
namespace {

using namespace starling::resident::detail;

/// The memory of `schedulers` schedulers of a device.
class memory_of {
 public:
  explicit memory_of(std::uint32_t schedulers) {
    layout& l = m_world.l;
    l.set_schedulers(schedulers);
    l.blocks = 0;
    l.outgoing = reserve((schedulers + 1) * sizeof(outgoing_ring));
    l.lines = reserve(schedulers * sizeof(scheduler_line));
    l.rings = reserve(schedulers * l.ring_slots * sizeof(slot));
    l.private_rings =
        reserve(schedulers * most_private_rings * l.private_ring_slots() * sizeof(slot));
    l.ending = reserve(line_bytes);
    l.cell_pools = reserve(schedulers * l.cells * sizeof(cell));
    m_memory.resize(l.bytes / line_bytes);
    m_world.slabs[0] = reinterpret_cast<std::byte*>(m_memory.data());
    m_world.link = m_link.get();
  }
  memory_of(const memory_of&) = delete;
  memory_of& operator=(const memory_of&) = delete;
  [[nodiscard]] const world& shared() const { return m_world; }
  /// Returns the number of private rings of a scheduler that have a sender.
  [[nodiscard]] std::uint32_t taken(std::uint32_t scheduler) const {
    std::uint32_t n = 0;
    for (const std::uint32_t is_taken : m_world.line(scheduler)->taken_rings) n += is_taken;
    return n;
  }

 private:
  struct alignas(line_bytes) one_line {
    std::byte bytes[line_bytes];
  };
  std::uint64_t reserve(std::uint64_t bytes) {
    const std::uint64_t at = m_world.l.bytes;
    m_world.l.bytes += whole_lines(bytes);
    return at;
  }
  world m_world;
  std::vector<one_line> m_memory;
  std::unique_ptr<host_link> m_link = std::make_unique<host_link>();
};

/// The cells, heap, outbox and inbox of a scheduler, and the number of messages it has sent.
struct scheduler_ends {
  scheduler_ends(const world& w, std::uint32_t self)
      : memory(64), cells(memory.data(), 64), heap(w, self), out(w, self, cells, heap),
        in(w, self, cells) {}

  /// Sends the next number directly. False: there is no direct way now.
  bool send(std::uint32_t to) {
    const auto there = out.reserve(to);
    if (there.into == nullptr) {
      EXPECT_FALSE(there.has_ticket);
      return false;
    }
    message m{};
    m.target = sent;
    m.bytes = inline_bytes;
    out.put(there, m, units_per_slot);
    ++sent;
    return true;
  }
  void send_often(std::uint32_t to, int times) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(send(to));
  }
  /// Sends through a cell, which is sent when the ring is known.
  void send_slowly(std::uint32_t to) {
    cell* const c = cells.take();
    c->m.target = sent++;
    c->m.bytes = 0;
    out.add(c, to);
    out.flush();
  }
  /// Messages until a private ring is requested: the first one makes the shared ring known, the
  /// following ones count as candidates for a private ring.
  static constexpr std::uint32_t asking = 5;
  void seek(std::uint32_t to) {
    send_slowly(to);
    for (int i = 0; i < 4; ++i) {
      send_often(to, 1);
      out.seek_private_ring();
    }
  }
  /// Returns all received messages in order: numbers, and `opening` for the opening of a ring.
  std::vector<std::uint32_t> receive(bool opens = true) {
    std::vector<std::uint32_t> numbers;
    for (int in_vain = 0; in_vain != 4; ++in_vain)  // a poll covers some of the rings only
      for (; in.wait(1); in_vain = 0) {
        const message m = in.text(in.front());
        in.pop();
        const bool is_opening = m.kind() == message_kind::private_ring;
        if (is_opening && opens) {
          EXPECT_TRUE(in.opens_ring(m));
        }
        numbers.push_back(is_opening ? opening : m.target);
      }
    return numbers;
  }
  static constexpr std::uint32_t opening = 1000000;

  std::vector<cell> memory;
  cell_pool cells;
  scheduler_heap heap;
  outbox<host_group> out;
  inbox<host_group> in;
  std::uint32_t sent = 0;
};

std::vector<std::uint32_t> numbers(std::uint32_t from, std::uint32_t end) {
  std::vector<std::uint32_t> result;
  for (; from != end; ++from) result.push_back(from);
  return result;
}

TEST(private_rings, are_taken_by_frequent_senders_and_read_after_earlier_messages) {
  const memory_of memory(3);
  scheduler_ends from(memory.shared(), 2), to(memory.shared(), 1);
  from.seek(1);
  EXPECT_EQ(memory.taken(1), 1u);
  const slot& first = *memory.shared().private_ring(1, 0);
  EXPECT_EQ(first.units[0].tail, 0u);
  from.send_often(1, 3);
  EXPECT_EQ(first.units[0].tail >> 32, 1u);
  auto expected = numbers(0, scheduler_ends::asking);
  expected.push_back(scheduler_ends::opening);
  EXPECT_EQ(to.receive(false), expected);  // not opened: the ring is not read
  EXPECT_EQ(memory.shared().outgoing(0, 1)->ticket, scheduler_ends::asking + 1);
}

TEST(private_rings, keep_the_order_of_immediate_and_waiting_messages) {
  const memory_of memory(2);
  scheduler_ends from(memory.shared(), 0), to(memory.shared(), 1);
  from.seek(1);
  from.send_often(1, 5);
  from.send_slowly(1);
  from.send_often(1, 2);
  auto expected = numbers(0, scheduler_ends::asking);
  expected.push_back(scheduler_ends::opening);
  for (const std::uint32_t n : numbers(scheduler_ends::asking, from.sent)) expected.push_back(n);
  EXPECT_EQ(to.receive(), expected);
  EXPECT_EQ(memory.shared().outgoing(0, 1)->ticket, scheduler_ends::asking + 1);
}

TEST(private_rings, are_not_requested_by_senders_to_many_schedulers) {
  const memory_of memory(4);
  scheduler_ends from(memory.shared(), 0);
  for (const std::uint32_t s : {1u, 2u, 3u}) from.send_slowly(s);
  for (std::uint32_t i = 0; i < 60; ++i) {
    from.send_often(1 + i % 3, 1);
    from.out.seek_private_ring();
  }
  for (const std::uint32_t s : {1u, 2u, 3u}) EXPECT_EQ(memory.taken(s), 0u);
}

TEST(private_rings, hold_messages_back_while_they_are_full) {
  const memory_of memory(2);
  scheduler_ends from(memory.shared(), 0), to(memory.shared(), 1);
  from.seek(1);
  from.send_often(1, most_private_slots);
  EXPECT_FALSE(from.send(1));
  from.send_slowly(1);
  EXPECT_EQ(from.out.waiting(), 1u);
  EXPECT_FALSE(from.send(1));  // later messages must not overtake it
  EXPECT_EQ(to.receive().size(), scheduler_ends::asking + 1 + most_private_slots);
  from.out.flush();
  EXPECT_EQ(from.out.waiting(), 0u);
  EXPECT_TRUE(from.send(1));
  EXPECT_EQ(to.receive(), numbers(from.sent - 2, from.sent));
}

TEST(private_rings, wrap_around_many_times) {
  const memory_of memory(2);
  scheduler_ends from(memory.shared(), 0), to(memory.shared(), 1);
  from.seek(1);
  EXPECT_EQ(to.receive().size(), scheduler_ends::asking + 1);
  for (std::uint32_t i = 0; i < 20 * most_private_slots; ++i) {
    const std::uint32_t before = from.sent;
    from.send_often(1, 1 + int(i % 7));
    EXPECT_EQ(to.receive(), numbers(before, from.sent));
  }
  EXPECT_EQ(memory.shared().outgoing(0, 1)->ticket, scheduler_ends::asking + 1);
}

TEST(private_rings, are_given_to_the_first_senders_and_later_ones_work_without) {
  const memory_of memory(most_private_rings + 3);
  scheduler_ends to(memory.shared(), 0);
  std::vector<std::unique_ptr<scheduler_ends>> senders;
  for (std::uint32_t s = 1; s < most_private_rings + 3; ++s) {
    senders.push_back(std::make_unique<scheduler_ends>(memory.shared(), s));
    senders.back()->seek(0);
    senders.back()->send_often(0, 1);
    const std::uint32_t tells = s <= most_private_rings ? 1 : 0;
    EXPECT_EQ(to.receive().size(), scheduler_ends::asking + tells + 1);
  }
  EXPECT_EQ(memory.taken(0), most_private_rings);
  for (int round = 0; round < 40; ++round)
    for (auto& sender : senders) {
      sender->send_often(0, 1);
      EXPECT_EQ(to.receive(), numbers(sender->sent - 1, sender->sent));
    }
}

TEST(private_rings, are_remembered_when_other_rings_have_been_used) {
  const std::uint32_t other = 1 + 128;  // shares a cache entry with scheduler 1
  const memory_of memory(other + 1);
  scheduler_ends from(memory.shared(), 0), to(memory.shared(), 1);
  from.seek(1);
  EXPECT_EQ(to.receive().size(), scheduler_ends::asking + 1);
  for (int round = 0; round < 50; ++round) {
    from.send_slowly(other);
    const std::uint32_t before = from.sent;
    from.send_slowly(1);
    from.send_often(1, 1);
    EXPECT_EQ(to.receive(), numbers(before, from.sent));
  }
  EXPECT_EQ(memory.shared().outgoing(0, 1)->ticket, scheduler_ends::asking + 1);
}

// Otherwise two schedulers that wait for room at each other would wait without end.
TEST(private_rings, are_opened_by_a_full_scheduler_that_runs_no_message) {
  const memory_of memory(2);
  scheduler_ends from(memory.shared(), 0);
  from.seek(1);
  from.send_often(1, 20);
  scheduler_core<host_group> full(memory.shared(), 1);
  for (int i = 0; i < 8; ++i) full.drain();
  EXPECT_TRUE(from.receive().empty());
  for (std::uint32_t number = 0; number < from.sent; ++number) {
    const incoming next = full.take(1);
    ASSERT_NE(next.kept, nullptr) << number;  // was drained
    EXPECT_EQ(next.text->target, number);
    full.release(next);
  }
  EXPECT_EQ(full.take(4).text, nullptr);
}

TEST(private_rings, are_given_back_where_the_last_message_before_has_no_room) {
  const memory_of memory(2);
  scheduler_ends from(memory.shared(), 0), to(memory.shared(), 1);
  from.send_slowly(1);
  for (int i = 0; i < 3; ++i) {
    from.send_often(1, 1);
    from.out.seek_private_ring();
  }
  from.send_often(1, 1);
  // Other senders take all remaining slots first.
  outgoing_ring& shared = *memory.shared().outgoing(0, 1);
  const std::uint32_t mine = from.sent, others = memory.shared().l.ring_slots - mine;
  shared.ticket += others;
  from.out.seek_private_ring();
  EXPECT_EQ(memory.taken(1), 0u);
  EXPECT_EQ(from.out.waiting(), 1u);  // a ticket must be used
  EXPECT_EQ(to.receive(), numbers(0, mine));
  message m{};
  for (std::uint32_t n = mine; n < mine + others; ++n) {
    m.target = n;
    host_group::put(memory.shared().ring(1, 0)[n], memory.shared().line(0)->image, m, 1, n + 1);
  }
  EXPECT_EQ(to.receive(), numbers(mine, mine + others));
  from.out.flush();
  EXPECT_EQ(from.out.waiting(), 0u);
  EXPECT_EQ(to.receive(), std::vector<std::uint32_t>{scheduler_ends::opening});
  from.seek(1);
  EXPECT_EQ(memory.taken(1), 1u);
}

}  // namespace
}  // namespace starling_test
