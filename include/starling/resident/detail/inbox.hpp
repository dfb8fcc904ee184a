// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/ring_sources.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// A message that has come, where it was received.
struct alignas(16) received {
  message text;
  /// What `inbox::find` says: the element for which it is, if nothing has moved from here; null: it
  /// is for none, is to be found, or may have to wait for its turn.
  chare* object = nullptr;
};

/// The way into a scheduler: a ring for each source device, private ones of some senders, and for
/// scheduler 0 that of the host.
///
/// Memory of devices and of the host is far away, so others may look there for the leader, who
/// finds what has come nearby: who receives fills places, in their order, and most messages are run
/// from there. On a device these are warps of their own, on the host another thread where a group
/// has several; else the leader does it itself, when there is nothing else to do.
template <class Group>
class inbox {
 public:
  /// Messages that may have been received and not been popped.
  static constexpr std::uint32_t ahead = 16;

  constexpr inbox(const world& w, std::uint32_t self, cell_pool& cells) noexcept
      : m_world(&w), m_cells(&cells), m_sources(w, self),
        m_ending(w.at<std::uint32_t>(w.device_of(self), w.l.ending)),
        m_channels_arrived(w.line(self)->arrived), m_self(self) {
    for (std::uint32_t a = 0; a < w.l.arrays; ++a) m_arrays[a] = near_array(w, self, a);
    if (!Group::is_served) begin(m_outlook);
  }

  /// What the scheduler knows of an array; here, as who receives finds elements.
  [[nodiscard]] constexpr const near_array& array(std::uint32_t number) const noexcept {
    return m_arrays[number];
  }
  /// Whether there is one of so many elements of that type. All asked at once, as below.
  [[nodiscard]] constexpr bool has_array(std::uint32_t number, std::uint32_t elements,
                                         std::uint32_t type) const noexcept {
    const near_array& a = m_arrays[number % max_arrays];
    return int(number < max_arrays) & int(a.count == elements) & int(a.type == type);
  }
  /// The element of a message that needs no look at its turn, or counts for a counter, if it was
  /// made here; else null.
  [[nodiscard]] constexpr chare* find(const message_head& head) const noexcept {
    // All asked at once: each branch would wait for its own load. Other kinds of messages may have
    // any array and target.
    const near_array& a = m_arrays[head.array % max_arrays];
    const bool is_usual =
        int(head.kind() == message_kind::entry) | int(head.kind() == message_kind::arrival);
    const bool is_here =
        int(is_usual) & int(!head.has_reference()) & int(a.is_from_here(head.target));
    chare* const object = object_in(a, is_here ? head.target : a.first);
    return is_here ? object : nullptr;
  }

  // --- the leader
  /// Before anything comes.
  constexpr void be_served() noexcept { m_is_served = true; }

  /// Whether there is a message, after so many looks; in the place of `front`, until `pop`. With
  /// `in_use` one behind as many, of which `pop` is still to be called.
  [[nodiscard]] constexpr bool wait(std::uint32_t looks, std::uint32_t in_use = 0) noexcept {
    if (m_known - m_popped == in_use) look_for_more(looks);
    return m_known - m_popped != in_use;
  }
  [[nodiscard]] constexpr std::uint32_t front() const noexcept { return m_popped % ahead; }
  /// A place where nothing is received: for a message of a cell while it is run.
  static constexpr std::uint32_t beside = ahead;
  // By their number, as a device takes long to make pointers to what it knows to be nearby.
  [[nodiscard]] constexpr message& text(std::uint32_t place) noexcept {
    return m_places[place].text;
  }
  [[nodiscard]] constexpr chare* object(std::uint32_t place) const noexcept {
    return m_places[place].object;
  }
  /// The next message was read, by all who do, and another one may be received there.
  constexpr void pop() noexcept {
    ++m_popped;
    Group::store_near(&m_room_upto, m_popped + ahead);
  }
  /// The next message of the host, in a cell; or null.
  [[nodiscard]] constexpr cell* take_from_host() noexcept {
    if (m_self != 0) return nullptr;
    if (serves_itself()) watch_host();
    if (Group::load_near(&m_host_has) != m_from_host + 1) return nullptr;
    cell* const c = m_cells->take();
    if (m_cells->is_scrap(c)) return nullptr;
    const slot& next = m_world->link->to_device[m_from_host & (host_slots - 1)];
    collect_flagged<Group>(next, c->m);
    Group::store_near(&m_from_host, m_from_host + 1);
    Group::store_release(&m_world->link->device_took, m_from_host);
    return c;
  }
  /// Messages of the host that have been taken.
  [[nodiscard]] constexpr std::uint32_t from_host() const noexcept { return m_from_host; }
  /// Whether the host wants the program to end; scheduler 0 is told.
  [[nodiscard]] constexpr bool host_stops() noexcept {
    if (m_self == 0 && serves_itself()) watch_host();
    return m_self == 0 && Group::load_near(&m_stop_wanted) != 0;
  }
  /// Whether the program is over.
  [[nodiscard]] constexpr bool has_ended() noexcept {
    serve_oneself();
    return Group::load_near(&m_has_ended) != 0;
  }
  /// Whether a message says that its sender uses a ring of its own from now on: then that is looked
  /// at, too. What came before has been taken.
  [[nodiscard]] constexpr bool opens_ring(const message& m) noexcept {
    if (m.kind() != message_kind::private_ring) return false;
    const auto o = read_at<private_opening>(m, 0);
    if (o.number == no_ring) return true;
    m_sources.open(m_world->private_ring(m_self, o.number), m_world->l.private_ring_slots(),
                   &m_world->line(o.sender)->private_out[o.which].taken);
    Group::store_near(&m_changes, m_changes + 1);
    return true;
  }
  /// So many channels are looked at.
  constexpr void watch_channels(std::uint32_t count) noexcept {
    Group::store_near(&m_channels, count);
    Group::store_near(&m_changes, m_changes + 1);
  }
  /// Whether data of channels has come since `begin_channels`.
  [[nodiscard]] constexpr bool has_channels() const noexcept {
    return Group::load_near(&m_channel_news) != m_known_news;
  }
  constexpr void begin_channels() noexcept { m_known_news = Group::load_near(&m_channel_news); }
  /// Sends that have come on a channel, ever.
  [[nodiscard]] constexpr std::uint32_t arrived_on(std::uint32_t channel) const noexcept {
    return Group::load_near(&m_channel_counts[channel]);
  }
  /// Nothing is received any more, nor told to those who send, whose memory may go then.
  constexpr void close() noexcept {
    Group::store_near(&m_is_closed, 1u);
    if (serves_itself()) return;
    while (Group::load_near(&m_has_left) == 0) Group::give_way();
  }

  /// Where nobody else receives.
  constexpr void serve_oneself() noexcept {
    if (!serves_itself()) return;
    for (std::uint32_t n = 0; n < m_sources.count() && !receive(); ++n) {
    }
  }

  // --- who receives: one thread, or all lanes of a warp
  /// What who receives keeps from one `receive` to the next, each lane by itself.
  struct outlook {
    typename ring_sources<Group>::view at;
    std::uint32_t changes = 0;   // of what is looked at, that are known
    std::uint32_t channels = 0;  // that are open
    std::uint32_t ending = 0;
  };
  /// Before the first `receive`.
  constexpr void begin(outlook& o) noexcept { m_sources.aim(o.at); }
  /// Takes in some of what has come, and looks at what else comes from outside. False: no message.
  constexpr bool receive(outlook& o) noexcept {
    const typename Group::some_slots found = m_sources.look(o.at);
    const std::uint32_t ending = Group::load(m_ending);
    const std::uint32_t arrived = look_at(std::uint32_t(Group::lane()), o.channels);
    const std::uint32_t filled = m_filled;  // while the others are on their way
    const std::uint32_t room = Group::load_near(&m_room_upto) - filled;
    const std::uint32_t changes = Group::of_first_lane(Group::load_near(&m_changes));
    some_taken taken;
    if (!found.empty()) {
      taken = fill(found, o.at.in_a_row, filled, room);
      Group::meet_lanes();  // all have read and written
      if (taken.count != 0 && Group::lane() == 0) {
        Group::store_near(&m_arrived, filled + taken.count);
        m_filled = filled + taken.count;
      }
    }
    const bool is_changed = changes != o.changes;
    if (is_changed || taken.count != 0 || !o.at.stays) m_sources.go_on(o.at, found, taken);
    note_channels(arrived, o.channels);
    if (Group::lane() == 0 && ending != o.ending) Group::store_near(&m_has_ended, ending);
    o.ending = ending;
    if (is_changed) learn(o, changes);
    return taken.count != 0;
  }
  /// The same, where one thread receives.
  constexpr bool receive() noexcept { return receive(m_outlook); }
  /// One thread: looks into the host's memory, for scheduler 0.
  constexpr void watch_host() noexcept {
    const host_link& link = *m_world->link;
    const std::uint32_t next = Group::load_near(&m_from_host);
    const std::uint32_t stop_wanted = Group::load(&link.stop_wanted);  // both on their way at once
    if (has_come_flagged<Group>(link.to_device[next & (host_slots - 1)], next + 1))
      Group::store_near(&m_host_has, next + 1);
    if (stop_wanted != 0) Group::store_near(&m_stop_wanted, 1u);
  }
  /// The last thing done by who receives, when it is closed.
  constexpr void leave() noexcept { Group::store_near(&m_has_left, 1u); }
  [[nodiscard]] constexpr bool is_watched() const noexcept { return m_self == 0; }
  [[nodiscard]] constexpr bool is_closed() const noexcept {
    return Group::load_near(&m_is_closed) != 0;
  }

 private:
  [[nodiscard]] constexpr bool serves_itself() const noexcept {
    return !Group::is_served && !m_is_served;
  }
  /// Looks so many times for messages, until there is anything new of any kind.
  constexpr void look_for_more(std::uint32_t looks) noexcept {
    serve_oneself();
    // Known before, as the compiler reads all members anew behind a load that acquires: nobody is
    // faster than the time between two looks.
    const std::uint32_t known = m_known, channels = m_known_news, host = m_from_host;
    std::uint32_t arrived = known, others = 0;
    do {
      others =
          (Group::look_near(&m_channel_news) ^ channels) | (Group::look_near(&m_host_has) ^ host);
      arrived = Group::load_near(&m_arrived);
    } while ((others | (arrived ^ known)) == 0 && --looks != 0);
    m_known = arrived;
  }
  /// Sends on a channel so far; each lane asks for one of its own, so that all are asked at once.
  [[nodiscard]] constexpr std::uint32_t look_at(std::uint32_t channel,
                                                std::uint32_t channels) const noexcept {
    return channel < channels ? Group::load_fenced(m_channels_arrived + channel) : 0;
  }
  /// `arrived`: on the lane's channel among the first ones.
  constexpr void note_channels(std::uint32_t arrived, std::uint32_t channels) noexcept {
    auto channel = std::uint32_t(Group::lane());
    for (std::uint32_t n = 0; n < channels; n += Group::lanes, channel += Group::lanes)
      note_channel(channel, n == 0 ? arrived : look_at(channel, channels));
  }
  constexpr void learn(outlook& o, std::uint32_t changes) const noexcept {
    o.changes = changes;
    o.channels = Group::of_first_lane(Group::load_near(&m_channels));
  }
  constexpr void note_channel(std::uint32_t channel, std::uint32_t arrived) noexcept {
    const bool is_new = arrived != m_channel_counts[channel];  // not those that are not open
    if (!Group::any_lane(is_new)) return;
    if (is_new)
      Group::store_near(&m_channel_counts[channel],
                        Group::acquire_behind(m_channels_arrived + channel, arrived));
    Group::meet_lanes();
    if (Group::lane() == 0) Group::store_near(&m_channel_news, m_channel_news + 1);
  }
  /// Takes in what is whole, as far as there is room.
  [[nodiscard]] constexpr some_taken fill(const typename Group::some_slots& found, bool in_a_row,
                                          std::uint32_t filled, std::uint32_t room) noexcept {
    return found.collect(
        room, in_a_row, [this](const unit_words& first) { return find(head_of(first)); },
        [this, filled](std::uint32_t k) { return &m_places[(filled + k) % ahead].text; },
        [this, filled](std::uint32_t k, chare* object) {
          m_places[(filled + k) % ahead].object = object;
        });
  }

  const world* m_world;
  cell_pool* m_cells;
  ring_sources<Group> m_sources;
  const std::uint32_t* m_ending;
  const std::uint32_t* m_channels_arrived;
  std::uint32_t m_self;
  bool m_is_served = false;
  near_array m_arrays[max_arrays];

  // The leader's.
  std::uint32_t m_popped = 0;
  std::uint32_t m_known = 0;  // what `m_arrived` said last
  std::uint32_t m_from_host = 0;
  std::uint32_t m_known_news = 0;
  // Between the leader and who receives: messages in their order, how many there is room for and
  // how many came.
  received m_places[ahead + 1] = {};
  std::uint32_t m_room_upto = ahead;
  std::uint32_t m_arrived = 0;
  std::uint32_t m_host_has = 0;  // the number of a message of the host that is there
  std::uint32_t m_stop_wanted = 0;
  std::uint32_t m_has_ended = 0;
  std::uint32_t m_channels = 0;  // that are open
  std::uint32_t m_changes = 0;   // of these and of rings
  std::uint32_t m_channel_counts[most_channels] = {};
  std::uint32_t m_channel_news = 0;  // counts up behind these
  std::uint32_t m_is_closed = 0;
  std::uint32_t m_has_left = 0;
  // Of who receives.
  std::uint32_t m_filled = 0;
  outlook m_outlook;  // where that is one thread
};

}  // namespace starling::resident::detail
