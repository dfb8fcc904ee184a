// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/inbox.hpp>
#include <starling/resident/detail/outbox.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// In an element's home.
inline constexpr std::uint32_t has_moved = std::uint32_t{1} << 31;

/// What of a scheduler does not depend on the program: messages that come, go and are kept, and
/// what elements wait for. Used by the leader of the group alone.
///
/// What entry methods call is short: it notes what is wanted. The work is done between them, in one
/// place each, which keeps the registers of a device's kernel few. So nothing waits inside an entry
/// method; instead none is begun while too much of what the last ones sent is still here.
template <class Group>
class scheduler_core {
 public:
  constexpr scheduler_core(const world& w, std::uint32_t self) noexcept
      : cells(w.at<cell>(w.device_of(self), w.l.cell_pools) +
                  std::uint64_t(w.place_of(self)) * w.l.cells,
              w.l.cells),
        heap(w, self), out(w, self, cells, heap), m_world(&w), m_self(self),
        m_device(w.device_of(self)), m_line(w.line(self)), m_inbox(w, self, cells) {
    for (std::uint32_t a = 0; a < w.l.arrays; ++a) m_arrays[a] = near_array(w, self, a);
  }
  scheduler_core(const scheduler_core&) = delete;
  scheduler_core& operator=(const scheduler_core&) = delete;

  cell_pool cells;
  scheduler_heap heap;
  outbox<Group> out;

  [[nodiscard]] constexpr const world& where() const noexcept { return *m_world; }
  [[nodiscard]] constexpr std::uint32_t self() const noexcept { return m_self; }
  [[nodiscard]] constexpr std::uint32_t device() const noexcept { return m_device; }
  [[nodiscard]] constexpr scheduler_line& line() const noexcept { return *m_line; }
  [[nodiscard]] constexpr std::uint64_t sent() const noexcept { return m_sent; }
  [[nodiscard]] constexpr std::uint64_t done() const noexcept { return m_done; }
  [[nodiscard]] constexpr std::uint32_t from_host() const noexcept { return m_inbox.from_host(); }
  /// No message here that could be worked on.
  [[nodiscard]] constexpr bool is_idle() const noexcept {
    return m_ready.empty() && m_aside == 0 && out.is_empty();
  }

  // --- elements
  [[nodiscard]] constexpr const near_array& array(std::uint32_t number) const noexcept {
    return m_arrays[number];
  }
  [[nodiscard]] constexpr chare* object(std::uint32_t array, std::uint32_t slot) const noexcept {
    const near_array& a = m_arrays[array];
    return reinterpret_cast<chare*>(a.objects + std::uint64_t(slot) * a.stride);
  }
  /// Where the element was some time ago at least; from there, messages follow it.
  [[nodiscard]] constexpr location locate(std::uint32_t array, std::uint32_t index) const noexcept {
    return location::of(Group::load_stale(m_arrays[array].locations + index));
  }
  /// Where the element of a message lives now, asked of the element. One that was made here is
  /// here, as long as nobody but this scheduler had it; else what its last home did must be seen.
  [[nodiscard]] constexpr std::uint32_t home_of(const message& m) const noexcept {
    const near_array& a = m_arrays[m.array];
    std::uint32_t* const home = &object(m.array, m.target)->native().home;
    if (m.target - a.first < a.end - a.first && (Group::load_stale(home) & has_moved) == 0)
      return m_self;
    return Group::load_acquire(home) & ~has_moved;
  }

  /// The counter at that offset of an element.
  [[nodiscard]] constexpr counter_state& counter_at(chare& object,
                                                    std::uint32_t offset) const noexcept {
    return *reinterpret_cast<counter_state*>(reinterpret_cast<std::byte*>(&object) + offset);
  }

  // --- sending: a cell is taken, its message composed, and the cell sent
  [[nodiscard]] constexpr cell* compose() noexcept {
    cell* const c = cells.take();
    if (cells.is_scrap(c)) fail(failure::no_room, out.waiting(), cells.count());
    return c;
  }
  /// Counted, so that all messages done means rest.
  constexpr void send(cell* c, std::uint32_t destination) noexcept {
    if (cells.is_scrap(c)) return;
    ++m_sent;
    pass(c, destination);
  }
  /// The same without counting.
  constexpr void pass(cell* c, std::uint32_t destination) noexcept {
    if (cells.is_scrap(c)) return;
    if (destination != m_self) return out.add(c, destination);
    const message_kind kind = c->m.kind();
    if (kind == message_kind::entry) return cells.append(m_ready, c);
    put_aside(kind == message_kind::everywhere ? m_broadcasts : m_errands, c);
  }
  /// To the element whose index stands in `target`.
  constexpr void send_by_index(cell* c) noexcept {
    message& m = c->m;
    const location there = locate(m.array, m.target);
    m.target = there.slot;
    send(c, there.scheduler);
  }
  /// Counts for the counter at that offset of an element.
  constexpr void send_arrival(location there, std::uint32_t array, std::uint32_t counter,
                              std::uint32_t how_many) noexcept {
    cell* const c = compose();
    message& m = c->m;
    m.set(message_kind::arrival);
    m.array = static_cast<std::uint8_t>(array);
    m.target = there.slot;
    m.bytes = 8;
    write_at(m, 0, counter);
    write_at(m, 4, how_many);
    send(c, there.scheduler);
  }
  constexpr void count_sent() noexcept { ++m_sent; }
  constexpr void count_done(std::uint64_t n = 1) noexcept { m_done += n; }

  // --- receiving
  /// So much waits to be sent that only what comes from others is run: more of its own, of the host
  /// or of a broadcast would not help, and others may wait for what is taken in.
  [[nodiscard]] constexpr bool is_pressed() const noexcept {
    return !out.is_empty() &&
           (out.waiting() > m_world->l.cells / 8 || out.staged() > 2 * m_world->l.blocks);
  }
  /// So much that nothing is run: an entry method must find room for what it sends.
  [[nodiscard]] constexpr bool is_full() const noexcept {
    return !out.is_empty() && out.waiting() > 3 * (m_world->l.cells / 8);
  }
  /// Nothing is to be done before messages to elements, and nothing ends.
  [[nodiscard]] constexpr bool is_calm() const noexcept { return m_aside == 0 && !m_is_ending; }
  /// What was sent here and not run yet, or is kept, takes so much room that it goes first.
  [[nodiscard]] constexpr bool is_short() const noexcept {
    return cells.left() < m_world->l.cells / 4 || heap.is_low();
  }
  /// Takes in what comes although nothing is run, so that others go on, who may be full as well.
  constexpr void drain() noexcept {
    while (m_drained_count < m_world->l.cells / 4 && cells.left() > 1) {
      cell* const c = m_inbox.take();
      if (c == nullptr) return;
      put_aside(m_drained, c);
      ++m_drained_count;
    }
  }
  /// Something for this scheduler that runs no entry method, or nullptr.
  [[nodiscard]] constexpr cell* take_errand() noexcept { return take_aside(m_errands); }
  /// Whether there are messages to elements that were sent from here.
  [[nodiscard]] constexpr bool has_own() const noexcept {
    return !m_released.empty() || !m_ready.empty();
  }
  /// The next message, from here or elsewhere in turn, or nullptr.
  [[nodiscard]] constexpr cell* take() noexcept {
    const bool has_aside = m_aside != 0;
    if (has_aside && !m_released.empty()) return take_aside(m_released);
    const bool takes_new = !is_pressed();
    m_own_turn = !m_own_turn;
    if (m_own_turn && (takes_new || is_short()) && !m_ready.empty()) return cells.pop(m_ready);
    if (has_aside && !m_drained.empty()) {
      --m_drained_count;
      return take_aside(m_drained);
    }
    cell* const c = take_inbound(takes_new);
    return c == nullptr && takes_new && !m_ready.empty() ? cells.pop(m_ready) : c;
  }
  /// Messages to all elements wait in their order, wherever they are from.
  constexpr void add_broadcast(cell* c) noexcept { put_aside(m_broadcasts, c); }
  [[nodiscard]] constexpr cell* take_broadcast() noexcept { return take_aside(m_broadcasts); }

  /// Memory for as long as the program runs; null after a failure.
  [[nodiscard]] constexpr std::byte* allocate(std::uint64_t bytes) noexcept {
    std::byte* const at = heap.allocate(bytes);
    if (at == nullptr) fail(failure::no_heap, bytes, heap.left());
    return at;
  }

  // --- turns and counters of elements
  /// Keeps a message until its number is expected. False: it is its turn.
  [[nodiscard]] constexpr bool stash(element& e, cell* c) noexcept {
    c->reference = reference_of(c->m);
    if (c->reference == e.expected) return false;
    if (static_cast<std::int32_t>(c->reference - e.expected) < 0) {
      m_running = &e;
      m_entry = c->m.entry;
      fail(failure::turn_is_over, c->reference, e.expected);
    }
    keep_block(c->m);
    cells.append(e.stash, c);
    note_stash(e);
    count_done();  // it rests
    return true;
  }
  /// After `expected` has changed: those whose turn it is go before all others, as they came first.
  constexpr void look_into_stash(element& e) noexcept {
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
  /// `c.then` is composed.
  constexpr void arm(element& e, counter_state& c, std::uint32_t wanted) noexcept {
    if (c.wanted != 0) return fail(failure::counter_in_use, 0, 0);
    c.wanted = wanted;
    c.next = e.armed;
    e.armed = &c;
    arrive(e, c, 0);
  }
  constexpr void arrive(element& e, counter_state& c, std::uint32_t how_many) noexcept {
    c.arrived += how_many;
    counter_state** link = &e.armed;
    while (*link != nullptr && *link != &c) link = &(*link)->next;
    if (*link == nullptr || c.arrived < c.wanted) return;
    *link = c.next;
    c.arrived -= c.wanted;
    c.wanted = 0;
    cell* const next = compose();
    next->m = c.then;
    send(next, m_self);
  }
  constexpr void give_back_block(const payload& p) noexcept {
    Group::set_bits(&m_world->outgoing(p.device, p.scheduler)->free_blocks, std::uint64_t(1)
                                                                                << p.number);
  }
  /// Moves an element of this scheduler to another one of the device.
  constexpr void migrate(element& e, std::uint32_t to) noexcept {
    if (to >= m_world->l.all_schedulers() || m_world->device_of(to) != m_device)
      return fail(failure::bad_scheduler, to, m_world->l.schedulers);
    if (e.channels != 0) return fail(failure::open_channels, 0, 0);
    if (to == m_self) return;
    while (!e.stash.empty()) send(cells.pop(e.stash), to);
    // Release: the new scheduler sees what entry methods wrote here.
    Group::store_release(&e.home, to | has_moved);
    for (std::uint32_t d = 0; d < m_world->l.devices; ++d) {
      const array_info& info = m_world->array(d, e.array);
      Group::store_release(m_world->at<std::uint64_t>(d, info.locations) + e.index,
                           location{to, e.slot}.bits());
    }
  }

  // --- the end
  /// Notes what is wrong, with the element and the entry method that run; told by `look_for_end`.
  constexpr void fail(failure code, std::uint64_t first, std::uint64_t second) noexcept {
    if (m_failure != failure::none) return;
    m_is_ending = true;
    m_failure = code;
    m_details[0] = first;
    m_details[1] = second;
    m_failed = m_running;
    m_failed_entry = m_entry;
  }
  constexpr void stop() noexcept { m_stops = m_is_ending = true; }
  /// What the host was told before that is to reach it, if the host takes it in time.
  constexpr void see_to_stop() noexcept {
    if (!m_stops || m_ends) return;
    const std::uint64_t now = Group::now_ns();
    if (m_stops_since == 0) m_stops_since = now;
    m_ends = out.to_host() == 0 || now - m_stops_since > m_world->l.stall_ns;
  }
  /// What runs from now on, for errors; null: nothing.
  constexpr void set_running(element* e, std::uint32_t entry) noexcept {
    m_running = e;
    m_entry = entry;
  }
  [[nodiscard]] constexpr bool has_to_end() const noexcept {
    return m_ends || m_failure != failure::none;
  }
  /// Whether the program is over; ends it where something here, or the host, says so.
  [[nodiscard]] constexpr bool look_for_end() noexcept {
    if (m_failure != failure::none) tell_failure();
    if (has_to_end() || host_stops()) end_all();
    return Group::load_acquire(m_world->at<std::uint32_t>(m_device, m_world->l.ending)) != 0;
  }

 private:
  [[nodiscard]] constexpr bool host_stops() noexcept {
    if (m_self != 0 || !m_stop_looks.is_due()) return false;
    return Group::load(&m_world->link->stop_wanted) != 0;
  }
  [[nodiscard]] constexpr cell* take_inbound(bool from_host_too) noexcept {
    cell* c = m_inbox.take();
    if (c != nullptr || !from_host_too) return c;
    c = m_inbox.take_from_host();
    if (c != nullptr) ++m_sent;  // the host does not count
    return c;
  }
  /// Into a list of those that are looked at before other messages.
  constexpr void put_aside(cell_list& list, cell* c) noexcept {
    cells.append(list, c);
    ++m_aside;
  }
  [[nodiscard]] constexpr cell* take_aside(cell_list& list) noexcept {
    if (list.empty()) return nullptr;
    --m_aside;
    return cells.pop(list);
  }
  /// Moves the bytes of a message that has to wait out of the block that was lent for it, which
  /// those for whom it waits may need. While there is room.
  constexpr void keep_block(message& m) noexcept {
    if (m.place() != payload_place::block) return;
    auto p = read_at<payload>(m, 0);
    const std::uint32_t mine = heap.take_block();
    if (mine == no_block) return;
    Group::acquire_data();
    copy_block(heap.block(mine), m_world->block(p.scheduler, p.device, p.number), p.extra);
    give_back_block(p);
    p.number = mine;
    write_at(m, 0, p);
    m.set(m.kind(), payload_place::staged, m.has_reference());
  }
  constexpr void note_stash(element& e) noexcept {
    if (e.stash.empty()) return;
    e.stash_number = e.stash.first->reference;
    e.stash_entry = e.stash.first->m.entry;
  }
  /// Each scheduler finishes the entry method that it runs.
  constexpr void end_all() noexcept {
    for (std::uint32_t d = 0; d < m_world->l.devices; ++d)
      Group::store_release(m_world->at<std::uint32_t>(d, m_world->l.ending), 1u);
  }
  /// The first one to fail is told, whichever device it is on.
  constexpr void tell_failure() noexcept {
    if (!Group::set_once(m_world->at<std::uint32_t>(0, m_world->l.failing))) return;
    failure_record& r = m_world->link->record;
    r.code = m_failure;
    r.scheduler = m_self;
    r.entry = m_failed_entry;
    r.detail[0] = m_details[0];
    r.detail[1] = m_details[1];
    if (m_failed != nullptr) {
      r.has_element = 1;
      r.array = m_failed->array;
      r.index = m_failed->index;
    }
    Group::store_release(&m_world->link->failed, 1u);
  }

  const world* m_world;
  std::uint32_t m_self;
  std::uint32_t m_device;
  scheduler_line* m_line;
  near_array m_arrays[max_arrays];
  inbox<Group> m_inbox;
  cell_list m_ready;          // from here, for elements
  cell_list m_released;       // those whose turn has come
  cell_list m_broadcasts;     // from anywhere
  cell_list m_errands;        // from here, of the other kinds
  cell_list m_drained;        // from elsewhere, taken in while no entry method could begin
  std::uint32_t m_aside = 0;  // messages in all of these but `m_ready`
  std::uint32_t m_drained_count = 0;
  bool m_own_turn = false;
  bool m_stops = false;  // an entry method has said so
  bool m_ends = false;
  bool m_is_ending = false;  // it stops, or something has failed
  std::uint64_t m_stops_since = 0;
  host_looks<Group> m_stop_looks;
  std::uint64_t m_sent = 0;
  std::uint64_t m_done = 0;

  element* m_running = nullptr;
  std::uint32_t m_entry = no_entry;
  failure m_failure = failure::none;
  std::uint64_t m_details[2] = {};
  const element* m_failed = nullptr;
  std::uint32_t m_failed_entry = no_entry;
};

}  // namespace starling::resident::detail
