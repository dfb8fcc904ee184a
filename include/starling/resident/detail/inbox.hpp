// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/cells.hpp>
#include <starling/resident/detail/ring_sources.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

/// A received message, at its inbox position.
struct alignas(16) received {
  message text;
  /// Result of `inbox::find`: the message's element, if no element has moved from here. Null: the
  /// message is for no element, must be looked up, or may have to wait for its turn.
  chare* object = nullptr;
};

/// The received messages of a scheduler: a ring for each source device, private rings of some
/// senders, and for scheduler 0 the ring of the host.
///
/// Memory of devices and of the host is slow to access. So a receiver polls it for the leader and
/// fills inbox positions in order, which the leader accesses fast; most messages are run at these
/// positions. On a device the receiver is a warp, and a second warp polls the host's memory. On the
/// host the receiver is an additional thread if the group has several threads. Otherwise the leader
/// itself receives, when it has no other work.
template <class Group>
class inbox {
 public:
  /// Largest number of messages that are received and not popped.
  static constexpr std::uint32_t ahead = 16;

  constexpr inbox(const world& w, std::uint32_t self, cell_pool& cells) noexcept
      : m_world(&w), m_cells(&cells), m_sources(w, self),
        m_ending(w.at<std::uint32_t>(w.device_of(self), w.l.ending)),
        m_channels_arrived(w.line(self)->arrived), m_self(self) {
    for (std::uint32_t a = 0; a < w.l.arrays; ++a) m_arrays[a] = near_array(w, self, a);
    if (!Group::is_served) begin(m_outlook);
  }

  /// Returns the array data of the scheduler; stored here because the receiver finds elements.
  [[nodiscard]] constexpr const near_array& array(std::uint32_t number) const noexcept {
    return m_arrays[number];
  }
  /// Returns whether array `number` has `elements` elements of the given type. Without branches,
  /// for the reason given in `find`.
  [[nodiscard]] constexpr bool has_array(std::uint32_t number, std::uint32_t elements,
                                         std::uint32_t type) const noexcept {
    const near_array& a = m_arrays[number % max_arrays];
    return int(number < max_arrays) & int(a.count == elements) & int(a.type == type);
  }
  /// Returns the element of a message that runs an entry method without a reference number, or
  /// counts for a counter, if the element was created here; else null.
  [[nodiscard]] constexpr chare* find(const message_head& head) const noexcept {
    // Without branches: each would wait for its own load. Messages of other kinds may have any
    // array and target.
    const near_array& a = m_arrays[head.array % max_arrays];
    const bool is_plain =
        int(head.kind() == message_kind::entry) | int(head.kind() == message_kind::arrival);
    const bool is_here =
        int(is_plain) & int(!head.has_reference()) & int(a.is_from_here(head.target));
    chare* const object = object_in(a, is_here ? head.target : a.first);
    return is_here ? object : nullptr;
  }

  // --- the leader
  /// Declares that another thread is the receiver. Called before the first message is received.
  constexpr void be_served() noexcept { m_is_served = true; }

  /// Returns whether there is a message, after at most `looks` polls. The message stays at position
  /// `front` until `pop`. `in_use`: number of earlier messages for which `pop` has not been called
  /// yet.
  [[nodiscard]] constexpr bool wait(std::uint32_t looks, std::uint32_t in_use = 0) noexcept {
    if (m_known - m_popped == in_use) look_for_more(looks);
    return m_known - m_popped != in_use;
  }
  [[nodiscard]] constexpr std::uint32_t front() const noexcept { return m_popped % ahead; }
  /// The position at which no message is received: it holds the message of a cell while that is
  /// run.
  static constexpr std::uint32_t beside = ahead;
  // Positions are given by index, because a device takes long to make a generic pointer to shared
  // memory.
  [[nodiscard]] constexpr message& text(std::uint32_t position) noexcept {
    return m_positions[position].text;
  }
  [[nodiscard]] constexpr chare* object(std::uint32_t position) const noexcept {
    return m_positions[position].object;
  }
  /// Frees the position of the front message. Called when all threads have read the message.
  constexpr void pop() noexcept {
    ++m_popped;
    Group::store_near(&m_room_upto, m_popped + ahead);
  }
  /// Returns the next message of the host in a cell, or null.
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
  /// Returns the number of host messages that have been taken.
  [[nodiscard]] constexpr std::uint32_t from_host() const noexcept { return m_from_host; }
  /// Returns whether the host has asked for the end. Always false on schedulers other than 0.
  [[nodiscard]] constexpr bool host_stops() noexcept {
    if (m_self == 0 && serves_itself()) watch_host();
    return m_self == 0 && Group::load_near(&m_stop_wanted) != 0;
  }
  /// Returns whether the program is over.
  [[nodiscard]] constexpr bool has_ended() noexcept {
    serve_oneself();
    return Group::load_near(&m_has_ended) != 0;
  }
  /// Returns whether a message announces a private ring of its sender (or `no_ring`), and polls
  /// that ring from now on. All messages that the sender sent before have been taken.
  [[nodiscard]] constexpr bool opens_ring(const message& m) noexcept {
    if (m.kind() != message_kind::private_ring) return false;
    const auto o = read_at<private_opening>(m, 0);
    if (o.number == no_ring) return true;
    m_sources.open(m_world->private_ring(m_self, o.number), m_world->l.private_ring_slots(),
                   &m_world->line(o.sender)->private_out[o.which].taken);
    Group::store_near(&m_changes, m_changes + 1);
    return true;
  }
  /// Sets the number of channels that the receiver polls.
  constexpr void watch_channels(std::uint32_t count) noexcept {
    Group::store_near(&m_channels, count);
    Group::store_near(&m_changes, m_changes + 1);
  }
  /// Returns whether data of channels has arrived since `begin_channels`.
  [[nodiscard]] constexpr bool has_channels() const noexcept {
    return Group::load_near(&m_channel_news) != m_known_news;
  }
  constexpr void begin_channels() noexcept { m_known_news = Group::load_near(&m_channel_news); }
  /// Returns the number of all sends that have arrived on a channel.
  [[nodiscard]] constexpr std::uint32_t arrived_on(std::uint32_t channel) const noexcept {
    return Group::load_near(&m_channel_counts[channel]);
  }
  /// Ends receiving: no more messages are read and no more credits stored to senders, whose memory
  /// may be freed afterwards.
  constexpr void close() noexcept {
    Group::store_near(&m_is_closed, 1u);
    if (serves_itself()) return;
    while (Group::load_near(&m_has_left) == 0) Group::give_way();
  }

  /// Receives messages if the leader is the receiver.
  constexpr void serve_oneself() noexcept {
    if (!serves_itself()) return;
    for (std::uint32_t n = 0; n < m_sources.count() && !receive(); ++n) {
    }
  }

  // --- the receiver: one thread, or all lanes of a warp
  /// The state that the receiver keeps between calls of `receive`; each lane has one.
  struct outlook {
    typename ring_sources<Group>::view at;
    std::uint32_t changes = 0;   // `m_changes` as last read
    std::uint32_t channels = 0;  // open channels
    std::uint32_t ending = 0;
  };
  /// Initializes the state before the first `receive`.
  constexpr void begin(outlook& o) noexcept { m_sources.aim(o.at); }
  /// Receives some messages, and polls channels and the end. Returns false if there was no message.
  constexpr bool receive(outlook& o) noexcept {
    const typename Group::some_slots found = m_sources.look(o.at);
    const std::uint32_t ending = Group::load(m_ending);
    const std::uint32_t arrived = look_at(std::uint32_t(Group::lane()), o.channels);
    const std::uint32_t filled = m_filled;  // loaded while the loads above are in flight
    const std::uint32_t room = Group::load_near(&m_room_upto) - filled;
    const std::uint32_t changes = Group::of_first_lane(Group::load_near(&m_changes));
    some_taken taken;
    if (!found.empty()) {
      taken = fill(found, o.at.in_a_row, filled, room);
      Group::sync_lanes();  // all lanes have read and written
      if (taken.count != 0 && Group::lane() == 0) {
        Group::store_near(&m_arrived, filled + taken.count);
        m_filled = filled + taken.count;
      }
    }
    const bool is_changed = changes != o.changes;
    if (is_changed || taken.count != 0 || !o.at.stays) m_sources.advance(o.at, found, taken);
    note_channels(arrived, o.channels);
    if (Group::lane() == 0 && ending != o.ending) Group::store_near(&m_has_ended, ending);
    o.ending = ending;
    if (is_changed) learn(o, changes);
    return taken.count != 0;
  }
  /// As above, for a receiver that is one thread.
  constexpr bool receive() noexcept { return receive(m_outlook); }
  /// Polls the host's memory for scheduler 0. Called by one thread.
  constexpr void watch_host() noexcept {
    const host_link& link = *m_world->link;
    const std::uint32_t next = Group::load_near(&m_from_host);
    const std::uint32_t stop_wanted = Group::load(&link.stop_wanted);  // both loads in flight
    if (has_come_flagged<Group>(link.to_device[next & (host_slots - 1)], next + 1))
      Group::store_near(&m_host_has, next + 1);
    if (stop_wanted != 0) Group::store_near(&m_stop_wanted, 1u);
  }
  /// Called by the receiver as its last operation, when the inbox is closed.
  constexpr void leave() noexcept { Group::store_near(&m_has_left, 1u); }
  [[nodiscard]] constexpr bool is_watched() const noexcept { return m_self == 0; }
  [[nodiscard]] constexpr bool is_closed() const noexcept {
    return Group::load_near(&m_is_closed) != 0;
  }

 private:
  [[nodiscard]] constexpr bool serves_itself() const noexcept {
    return !Group::is_served && !m_is_served;
  }
  /// Polls at most `looks` times, until there is a message, a message of the host or a change of a
  /// channel.
  constexpr void look_for_more(std::uint32_t looks) noexcept {
    serve_oneself();
    // Copies, because the compiler loads all members again after an acquire load, and the time
    // between two polls limits the latency.
    const std::uint32_t known = m_known, channels = m_known_news, host = m_from_host;
    std::uint32_t arrived = known, news = 0;
    do {
      news =
          (Group::look_near(&m_channel_news) ^ channels) | (Group::look_near(&m_host_has) ^ host);
      arrived = Group::load_near(&m_arrived);
    } while ((news | (arrived ^ known)) == 0 && --looks != 0);
    m_known = arrived;
  }
  /// Returns the number of sends on a channel so far. Each lane loads the number of one channel, so
  /// that all loads are in flight at once.
  [[nodiscard]] constexpr std::uint32_t look_at(std::uint32_t channel,
                                                std::uint32_t channels) const noexcept {
    return channel < channels ? Group::load_fenced(m_channels_arrived + channel) : 0;
  }
  /// Notes the sends on all channels. `arrived`: the number of sends on the channel whose index is
  /// the calling lane's.
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
    // False for a lane without an open channel.
    const bool is_new = arrived != m_channel_counts[channel];
    if (!Group::any_lane(is_new)) return;
    if (is_new)
      Group::store_near(&m_channel_counts[channel],
                        Group::acquire_behind(m_channels_arrived + channel, arrived));
    Group::sync_lanes();
    if (Group::lane() == 0) Group::store_near(&m_channel_news, m_channel_news + 1);
  }
  /// Takes complete messages into free inbox positions.
  [[nodiscard]] constexpr some_taken fill(const typename Group::some_slots& found, bool in_a_row,
                                          std::uint32_t filled, std::uint32_t room) noexcept {
    return found.collect(
        room, in_a_row, [this](const unit_words& first) { return find(head_of(first)); },
        [this, filled](std::uint32_t k) { return &m_positions[(filled + k) % ahead].text; },
        [this, filled](std::uint32_t k, chare* object) {
          m_positions[(filled + k) % ahead].object = object;
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

  // Written by the leader only.
  std::uint32_t m_popped = 0;
  std::uint32_t m_known = 0;  // `m_arrived` as last read
  std::uint32_t m_from_host = 0;
  std::uint32_t m_known_news = 0;
  // Shared by the leader and the receiver: messages in order, how many there is room for, and how
  // many have arrived.
  received m_positions[ahead + 1] = {};
  std::uint32_t m_room_upto = ahead;
  std::uint32_t m_arrived = 0;
  std::uint32_t m_host_has = 0;  // number of host messages known to have arrived
  std::uint32_t m_stop_wanted = 0;
  std::uint32_t m_has_ended = 0;
  std::uint32_t m_channels = 0;  // open channels
  std::uint32_t m_changes = 0;   // number of changes of the channels and rings that are polled
  std::uint32_t m_channel_counts[most_channels] = {};
  std::uint32_t m_channel_news = 0;  // incremented after a change of the counts
  std::uint32_t m_is_closed = 0;
  std::uint32_t m_has_left = 0;
  // Accessed by the receiver only.
  std::uint32_t m_filled = 0;
  outlook m_outlook;  // where the receiver is one thread
};

}  // namespace starling::resident::detail
