// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/counters.hpp>
#include <starling/resident/detail/ending.hpp>
#include <starling/resident/detail/inbox.hpp>
#include <starling/resident/detail/outbox.hpp>
#include <starling/resident/detail/scheduler_memory.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

inline constexpr std::uint32_t has_moved = std::uint32_t{1} << 31;  // flag in an element's `home`

/// The part of a scheduler that does not depend on the program: received, sent and kept messages,
/// and counters of elements. Used by the leader of the group only.
///
/// Functions that entry methods call send a message that can leave at once, or record a request.
/// Each kind of request is served in one place between entry methods, which saves registers of a
/// device. No call waits; no entry method begins while too many messages of earlier ones are here.
/// A message is composed in a cell and passed to `send`, or written where it leaves by `send_made`,
/// which saves a copy. Both pass one that cannot leave at once to the outbox, or to a list here.
template <class Group>
class scheduler_core {
 public:
  static constexpr bool reaches_all = Group::reaches_all;
  constexpr scheduler_core(const world& w, std::uint32_t self) noexcept
      : m_world(w), cells(w.at<cell>(w.device_of(self), w.l.cell_pools) +
                              std::uint64_t(w.local_index(self)) * w.l.cells,
                          w.l.cells),
        heap(w, self), out(m_world, self, cells, heap), in(m_world, self, cells),
        end(m_world, self), memory(m_world, w.device_of(self), heap, end), m_self(self),
        m_device(w.device_of(self)) {}

 private:
  world m_world;  // a copy, in the memory that the group reaches fastest

 public:
  cell_pool cells;
  scheduler_heap heap;
  outbox<Group> out;
  inbox<Group> in;
  ending<Group> end;
  scheduler_memory<Group> memory;

  [[nodiscard]] constexpr const world& shared() const noexcept { return m_world; }
  [[nodiscard]] constexpr std::uint32_t self() const noexcept { return m_self; }
  [[nodiscard]] constexpr std::uint32_t device() const noexcept { return m_device; }
  [[nodiscard]] constexpr std::uint64_t sent() const noexcept { return m_sent; }
  [[nodiscard]] constexpr std::uint64_t done() const noexcept { return m_done; }
  /// Returns whether there is no message here that could be handled.
  [[nodiscard]] constexpr bool is_idle() const noexcept {
    return m_ready.empty() && m_aside == 0 && out.is_empty();
  }

  // --- elements
  [[nodiscard]] constexpr const near_array& array(std::uint32_t number) const noexcept {
    return in.array(number);
  }
  [[nodiscard]] constexpr chare* object(std::uint32_t array, std::uint32_t slot) const noexcept {
    return object_in(in.array(array), slot);
  }
  /// Returns a location that the element has or had; from an old one, messages follow it.
  [[nodiscard]] constexpr location locate(std::uint32_t array, std::uint32_t index) const noexcept {
    return location::of(Group::load_stale(in.array(array).locations + index));
  }
  /// Returns the current scheduler of a message's element. An element created here is here unless
  /// some element has moved away; then its `home` is read. Without `has_moved`, only this scheduler
  /// has had it; else an acquire load is needed, to see the writes of its last scheduler.
  [[nodiscard]] constexpr std::uint32_t home_of(const message_head& m) const noexcept {
    const near_array& a = in.array(m.array);
    const bool is_from_here = a.is_from_here(m.target);
    if (is_from_here && !m_has_moved_any) return m_self;
    std::uint32_t* const home = &object(m.array, m.target)->state().home;
    if (is_from_here && (Group::load_stale(home) & has_moved) == 0) return m_self;
    return Group::load_acquire(home) & ~has_moved;
  }

  // --- sending
  [[nodiscard]] constexpr cell* compose() noexcept {
    cell* const c = cells.take();
    if (cells.is_scrap(c)) fail(failure::no_room, out.waiting(), cells.count());
    return c;
  }
  constexpr void drop(cell* c) noexcept {
    if (!cells.is_scrap(c)) cells.give_back(c);
  }
  /// Sends a message; if `at_once`, not for the host, maybe before the entry method ends.
  constexpr void send(cell* c, std::uint32_t destination, bool at_once = false) noexcept {
    const message_kind kind = c->m.kind();
    if (destination == m_self) return deliver(c, kind);
    reservation there;
    if (at_once && !cells.is_scrap(c)) there = out.reserve(destination);
    if (there.into == nullptr) return queue(c, kind, destination, there);
    count_sent(kind);
    out.put(there, c->m, units_of(std::size_t(c->m.bytes)));
    cells.give_back(c);
  }
  /// Sends a message without a span, of kind `Kind` and `units` units, that write(message&) makes.
  template <message_kind Kind, class Write>
  constexpr void send_made(std::uint32_t destination, int units, bool at_once,
                           Write write) noexcept {
    if (destination == m_self) {  // by itself: by the code below it is 9 % slower
      cell* const c = compose();
      write(c->m);
      return deliver(c, Kind);
    }
    reservation there;
    if (at_once) there = out.reserve(destination);
    if (there.into != nullptr) {
      message m{};
      write(m);
      count_sent(Kind);
      return out.put(there, m, units);
    }
    cell* const c = compose();
    write(c->m);
    queue(c, Kind, destination, there);
  }
  /// Queues a composed message of kind `kind` for this scheduler.
  constexpr void deliver(cell* c, message_kind kind) noexcept {
    if (cells.is_scrap(c)) return;
    count_sent(kind);
    if (kind == message_kind::arrival) m_has_own_arrivals = true;
    if (kind <= message_kind::arrival) return cells.append(m_ready, c);
    put_aside(kind == message_kind::broadcast ? m_broadcasts : m_errands, c);
  }
  /// Replaces the element's index in `target` by its slot; returns the scheduler for `send`.
  [[nodiscard]] constexpr std::uint32_t resolve(message& m) const noexcept {
    const location there = locate(m.array, m.target);
    m.target = there.slot;
    return there.scheduler;
  }
  /// Returns whether an element is certainly here and nothing may have to precede the count: the
  /// opening of a channel, set aside, or an earlier arrival, queued.
  [[nodiscard]] constexpr bool counts_at_once(location there, std::uint32_t array) noexcept {
    if (m_ready.empty()) m_has_own_arrivals = false;
    return there.scheduler == m_self && !m_has_moved_any && m_aside == 0 && !m_has_own_arrivals &&
           in.array(array).is_from_here(there.slot);
  }
  /// Sends arrivals for the counter at offset `counter` of an element.
  constexpr void send_arrival(location there, std::uint32_t array, std::uint32_t counter,
                              std::uint32_t how_many, bool at_once = false) noexcept {
    const auto write = [&](message& m) { write_arrival(m, array, there.slot, counter, how_many); };
    send_made<message_kind::arrival>(there.scheduler, units_of(arrival_bytes), at_once, write);
  }
  /// Counts a sent message: quiescence means that all counted messages are done.
  constexpr void count_sent(message_kind kind = message_kind::entry) noexcept {
    m_sent += kind < message_kind::wave;
  }
  constexpr void count_done(std::uint64_t n = 1) noexcept { m_done += n; }

  // --- receiving
  /// Returns whether so many messages wait to be sent that only received ones are run: own, host or
  /// broadcast messages would send more, and other schedulers may wait for received ones to be run.
  [[nodiscard]] constexpr bool is_pressed() const noexcept {
    return !out.is_empty() &&
           (out.waiting() > m_world.l.cells / 8 || out.staged() > 2 * m_world.l.blocks);
  }
  /// Returns whether so many wait that none is run: an entry method must find room for its sends.
  [[nodiscard]] constexpr bool is_full() const noexcept {
    return !out.is_empty() && out.waiting() > 3 * (m_world.l.cells / 8);
  }
  /// Returns whether no message is set aside or waits to be sent, and the end is not near.
  [[nodiscard]] constexpr bool is_calm() const noexcept {
    return (m_aside | out.waiting() | std::uint32_t(end.is_near())) == 0;
  }
  /// Returns whether own and kept messages take so much room that own ones are run first.
  [[nodiscard]] constexpr bool is_short() const noexcept {
    return cells.left() < m_world.l.cells / 4 || heap.is_low();
  }
  /// Returns whether a broadcast may go on or begin: not while many messages wait to be sent, nor,
  /// where room is short, before the messages that its earlier elements sent here.
  [[nodiscard]] constexpr bool may_broadcast() const noexcept {
    return !is_pressed() && !(is_short() && has_own());
  }
  /// Receives messages although none is run, so that their senders, which may be full too, proceed.
  constexpr void drain() noexcept {
    while (m_drained_count < m_world.l.cells / 4) {
      const incoming next = take_received(1);
      if (next.text == nullptr) return;
      if (in.opens_ring(*next.text)) {  // otherwise its sender would stay full
        release(next);
      } else {
        put_aside(m_drained, keep(next));
        ++m_drained_count;
      }
    }
  }
  /// Returns a message to this scheduler that runs no entry method, or nullptr.
  [[nodiscard]] constexpr cell* take_errand() noexcept { return take_aside(m_errands); }
  /// Returns whether messages to elements wait that were sent from here.
  [[nodiscard]] constexpr bool has_own() const noexcept {
    return !m_released.empty() || !m_ready.empty();
  }
  /// Returns whether no element has moved from here, and cells are free.
  [[nodiscard]] constexpr bool takes_at_once() const noexcept {
    return int(!m_has_moved_any) & int(cells.left() > 1);
  }
  /// Returns the next message from here, or null. It precedes received messages, which may be
  /// slower to find, except in every eighth turn; `take_turn` counts the messages taken.
  [[nodiscard]] constexpr cell* own_in_turn() const noexcept {
    return (m_own_in_a_row + 1) % own_in_a_row == 0 ? nullptr : m_ready.first;
  }
  [[nodiscard]] constexpr bool has_ready() const noexcept { return !m_ready.empty(); }
  constexpr void take_turn() noexcept { ++m_own_in_a_row; }
  constexpr void take_own() noexcept {
    take_turn();
    static_cast<void>(cells.pop(m_ready));
  }
  /// Returns the next message, if there is one.
  [[nodiscard]] constexpr incoming take(std::uint32_t looks) noexcept {
    if (!m_released.empty()) return incoming::of(take_aside(m_released));
    const bool takes_new = !is_pressed();
    if ((takes_new || is_short()) && !m_ready.empty() && ++m_own_in_a_row % 2 != 0)
      return incoming::of(cells.pop(m_ready));
    if (!m_drained.empty()) {
      --m_drained_count;
      return incoming::of(take_aside(m_drained));
    }
    if (const incoming next = take_received(m_ready.empty() ? looks : 1);
        next.text != nullptr || !takes_new)
      return next;
    cell* const c = take_from_host();
    return incoming::of(c == nullptr && !m_ready.empty() ? cells.pop(m_ready) : c);
  }
  /// Returns the cell of a message; moves the message there from its inbox position if needed.
  [[nodiscard]] constexpr cell* keep(const incoming& next) noexcept {
    if (next.kept != nullptr) return next.kept;
    cell* const c = cells.take();  // there is one: see `take_received`
    copy_used(c->m, *next.text);
    in.pop();
    return c;
  }
  /// Frees the cell or inbox position of a message that no thread reads any more.
  constexpr void release(const incoming& next) noexcept {
    next.kept == nullptr ? in.pop() : cells.give_back(next.kept);
  }
  /// Queues a broadcast; broadcasts keep their order, wherever they are from.
  constexpr void add_broadcast(cell* c) noexcept { put_aside(m_broadcasts, c); }
  [[nodiscard]] constexpr cell* take_broadcast() noexcept { return take_aside(m_broadcasts); }

  // --- reference numbers and counters of elements
  /// Keeps a message until its reference number is expected. Returns false if it is expected now.
  [[nodiscard]] constexpr bool stash(element_state& e, cell* c) noexcept {
    c->reference = reference_of(c->m);
    if (c->reference == e.expected) return false;
    if (static_cast<std::int32_t>(c->reference - e.expected) < 0) {
      end.set_running(&e, c->m.entry);
      fail(failure::turn_is_over, c->reference, e.expected);
    }
    keep_block(c->m);
    cells.append(e.stash, c);
    note_stash(e);
    count_done();  // it does not prevent quiescence
    return true;
  }
  /// Releases messages that are expected now; they precede all other messages, as they came first.
  constexpr void look_into_stash(element_state& e) noexcept {
    cell* before = nullptr;
    for (cell* c = e.stash.first; c != nullptr;) {
      cell* const next = c->next;
      if (c->reference == e.expected) {
        cells.unlink(e.stash, before, c);
        put_aside(m_released, c);
        count_sent();
      } else {
        before = c;
      }
      c = next;
    }
    note_stash(e);
  }
  /// Uses up `wanted` arrivals if they have come. Returns a cell for the message to run then; also
  /// after a failure. Otherwise null: the caller composes `c.then` and calls `arm`.
  [[nodiscard]] constexpr cell* use_up(counter_state& c, std::uint32_t wanted) noexcept {
    if (c.wanted == 0 && c.arrived < wanted) return nullptr;
    if (c.wanted != 0) refuse_wait(c);
    c.arrived -= wanted;
    return compose();
  }
  /// Fails: an entry method waits for the counter already.
  constexpr void refuse_wait(const counter_state& c) noexcept {
    fail(failure::counter_in_use, c.then.entry, c.wanted - c.arrived);
  }
  constexpr void arrive(element_state& e, counter_state& c, std::uint32_t how_many) noexcept {
    if (count_for(e, c, how_many)) send_what_waited(c);
  }
  constexpr void send_what_waited(const counter_state& c) noexcept {
    cell* const next = compose();
    copy_used(next->m, c.then);
    deliver(next, message_kind::entry);
  }
  constexpr void give_back_block(const payload& p) noexcept {
    Group::set_credit_bits(&m_world.outgoing(p.device, p.scheduler)->free_blocks, std::uint64_t(1)
                                                                                      << p.number);
  }
  /// Ends a message that is done: gives back its payload block or lent memory.
  constexpr void end_message(const message& m) noexcept {
    count_done();
    if (m.storage() == payload_storage::none) return;
    const auto p = read_at<payload>(m, 0);
    if (m.storage() == payload_storage::block)
      give_back_block(p);
    else if (m.storage() == payload_storage::staged)
      heap.give_back(p.number);
    else if (m.storage() == payload_storage::reference)
      send_arrival({p.scheduler, p.number}, p.array, p.extra, 1);
  }
  /// Moves an element of this scheduler to another scheduler of the device.
  constexpr void migrate(element_state& e, std::uint32_t to) noexcept {
    if (to >= m_world.l.all_schedulers() || m_world.device_of(to) != m_device)
      return fail(failure::bad_scheduler, to, m_world.l.schedulers);
    if (e.channels != 0) return fail(failure::open_channels, 0, 0);
    if (to == m_self) return;
    while (!e.stash.empty()) send(cells.pop(e.stash), to);
    m_has_moved_any = true;
    // Release: the new scheduler sees the writes of entry methods here.
    Group::store_release(&e.home, to | has_moved);
    const array_info& info = m_world.array(m_device, e.array);  // the same on all devices
    for (std::uint32_t d = 0; d < m_world.l.devices; ++d)
      Group::store_release(m_world.at<std::uint64_t>(d, info.locations) + e.index,
                           location{to, e.slot}.bits());
  }

  // --- the end
  constexpr void fail(failure code, std::uint64_t first, std::uint64_t second) noexcept {
    end.fail(code, first, second);
  }
  /// Returns whether the program is over; ends it if a failure, a stop or the host requires that.
  [[nodiscard]] constexpr bool look_for_end() noexcept {
    const bool ends_now = end.is_due() || in.host_stops();
    if (ends_now) end.end_all();
    return ends_now || in.has_ended();  // the flag set here may take a while to be visible
  }

 private:
  using reservation = typename outbox<Group>::reservation;
  static constexpr std::uint32_t own_in_a_row = 8;

  /// Queues a message in the outbox. Messages to the host are not counted.
  constexpr void queue(cell* c, message_kind kind, std::uint32_t destination,
                       const reservation& there) noexcept {
    if (cells.is_scrap(c)) return;  // loses its ticket, but the program has failed
    if (destination != m_world.l.all_schedulers()) count_sent(kind);
    out.add(c, destination, there);
  }
  /// Returns the next received message, if cells are free for it and for a message that it sends.
  [[nodiscard]] constexpr incoming take_received(std::uint32_t looks) noexcept {
    if (cells.left() < 2 || !in.wait(looks)) return {};
    return {&in.text(in.front())};
  }
  [[nodiscard]] constexpr cell* take_from_host() noexcept {
    cell* const c = in.take_from_host();
    if (c != nullptr) count_sent();  // the host does not count
    return c;
  }
  /// Adds a message to one of the lists that precede other messages.
  constexpr void put_aside(cell_list& list, cell* c) noexcept {
    cells.append(list, c);
    ++m_aside;
  }
  [[nodiscard]] constexpr cell* take_aside(cell_list& list) noexcept {
    if (list.empty()) return nullptr;
    --m_aside;
    return cells.pop(list);
  }
  /// Moves a waiting message's span to the heap, if there is room, to free its payload block.
  constexpr void keep_block(message& m) noexcept {
    if (m.storage() != payload_storage::block) return;
    auto p = read_at<payload>(m, 0);
    const std::uint32_t mine = heap.take_block();
    if (mine == no_block) return;
    copy_block(heap.block(mine), m_world.block(p.scheduler, p.device, p.number), p.extra);
    give_back_block(p);
    p.number = mine;
    write_at(m, 0, p);
    m.set(m.kind(), payload_storage::staged, m.has_reference());
  }

  std::uint32_t m_self;
  std::uint32_t m_device;
  cell_list m_ready;          // from here, to elements: entry messages and arrivals
  cell_list m_released;       // stashed messages that are expected now
  cell_list m_broadcasts;     // from any scheduler or the host
  cell_list m_errands;        // from here, of the remaining kinds: they run no entry method
  cell_list m_drained;        // received while no entry method could begin
  std::uint32_t m_aside = 0;  // messages in the lists above except `m_ready`
  std::uint32_t m_drained_count = 0;
  std::uint32_t m_own_in_a_row = 0;
  bool m_has_own_arrivals = false;  // there may be arrivals in `m_ready`
  bool m_has_moved_any = false;     // elements have moved from here to other schedulers
  std::uint64_t m_sent = 0;
  std::uint64_t m_done = 0;
};

}  // namespace starling::resident::detail
