// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <starling/core/detail/promise_base.hpp>

/// Locations of elements that have migrated, and the order of the messages to them. Pure data
/// structures: docs/design/0039-location-of-elements.md has the protocol. Workers are numbered
/// across all ranks. Each object is accessed by one worker at a time.
namespace starling::detail {

/// The worker that has an element, and the number of migrations that led there. The location with
/// the higher version is the newer one; version 0 is the home.
struct location {
  std::uint32_t worker = 0;
  std::uint32_t version = 0;
};

/// The position of a message in its sequences. A sequence is the numbered messages of one priority
/// from one worker to one element. The home has another one, of the messages that it passes on.
struct ticket {
  static constexpr std::uint32_t no_sender = ~std::uint32_t{0};

  std::uint64_t number = 0;          // in the sender's sequence, from 1 on
  std::uint64_t home_number = 0;     // in the home's sequence, from 1 on; 0: not sent by the home
  std::uint32_t sender = no_sender;  // worker; no_sender: the message has no number of a sender
  std::uint32_t version = 0;         // of the location to which the message is sent
  starling::priority priority = starling::priority::normal;
  bool is_forwarded = false;      // the sender did not know the location
  bool drops_if_missing = false;  // the message is dropped if the element does not exist
  bool is_loose = false;          // the message is in no sequence: its receiver finds its order
  // The message follows all earlier urgent messages, too: those up to these numbers of the sender
  // and of the home. The home numbers each such message.
  bool is_last = false;
  std::uint64_t urgent = 0;
  std::uint64_t home_urgent = 0;

  [[nodiscard]] bool has_sender() const noexcept { return sender != no_sender; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, home_number, sender, version, priority, is_forwarded, drops_if_missing, is_loose,
       is_last);
    if (is_last) ar(urgent, home_urgent);
  }
};

/// A message to an element that has migrated. Linked into the lists below, which own it.
struct tracked_item {
  ticket position;
  tracked_item* next = nullptr;
  void (*dispose)(tracked_item& m) noexcept = nullptr;  // discards the message; null: no effect
  bool stays_on_rank = false;  // the element does not leave the rank while the message is held
};
/// Deleter that discards a message.
struct dispose_tracked {
  void operator()(tracked_item* m) const noexcept {
    if (m->dispose != nullptr) m->dispose(*m);
  }
};

/// A list of messages, first in first out.
class tracked_list {
 public:
  void push(tracked_item& m) noexcept {
    m.next = nullptr;
    *m_end = &m;
    m_end = &m.next;
  }
  [[nodiscard]] tracked_item* pop() noexcept {
    tracked_item* const first = m_first;
    if (first != nullptr && (m_first = first->next) == nullptr) m_end = &m_first;
    return first;
  }
  [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const tracked_item* m = m_first; m != nullptr; m = m->next) ++n;
    return n;
  }

  tracked_list() = default;
  tracked_list(tracked_list&& other) noexcept { take(other); }
  tracked_list& operator=(tracked_list&&) = delete;
  ~tracked_list() {
    while (tracked_item* m = pop()) dispose_tracked()(m);
  }
  /// Appends the messages of `other`.
  void take(tracked_list& other) noexcept {
    if (other.empty()) return;
    *m_end = std::exchange(other.m_first, nullptr);
    m_end = std::exchange(other.m_end, &other.m_first);
  }

 private:
  tracked_item* m_first = nullptr;
  tracked_item** m_end = &m_first;
};

/// Restores the order of the messages to one element, which reach it on different ways. Migrates
/// with the element.
class arrival_order {
 public:
  arrival_order() = default;
  arrival_order(const arrival_order&) = delete;
  arrival_order& operator=(const arrival_order&) = delete;
  ~arrival_order() {
    while (tracked_item* m = drop_one()) dispose_tracked()(m);
  }

  /// Takes a message. Returns false for a number that was used before. Without an effect then, and
  /// if it throws. @throws std::bad_alloc
  [[nodiscard]] bool add(tracked_item& m);
  /// Returns the next message to deliver, or null: the remaining ones wait for earlier messages.
  [[nodiscard]] tracked_item* next() noexcept { return m_ready.pop(); }
  /// Adds a message that `next` of another rank has returned, but that was not delivered there.
  void add_ready(tracked_item& m) noexcept { m_ready.push(m); }
  /// Puts messages that `next` has returned, but that were not delivered, before the remaining
  /// ones.
  void put_back(tracked_list& returned) noexcept {
    returned.take(m_ready);
    m_ready.take(returned);
  }
  /// Removes a message that `next` would not return yet; null: there is none. For the end of a run.
  [[nodiscard]] tracked_item* drop_one() noexcept;
  /// Returns the number of these messages.
  [[nodiscard]] std::size_t count_held() const noexcept;
  /// Returns whether one of them stays on its rank.
  [[nodiscard]] bool holds_one_that_stays() const noexcept;
  /// Returns whether the sender of a forwarded message, which has a number, is to be sent the
  /// location with this version: true once for each version and sequence. @throws std::bad_alloc
  [[nodiscard]] bool tells(const ticket& t, std::uint32_t version) {
    return std::exchange(m_senders[key_of(t)].told, version) != version;
  }

  struct sequence {
    std::uint64_t expected = 0;    // number of the next message; 0: not opened
    tracked_item* held = nullptr;  // messages that arrived too early, by ascending number
    std::uint32_t told = 0;        // version of the location that was sent to the sender
  };
  /// Visits the sequences, `visit(key, sequence)`, to copy them to another rank.
  template <class Visitor>
  void for_each_sequence(Visitor visit) {
    for (std::uint64_t p = 0; p < m_home.size(); ++p) visit(home_key + p, m_home[p]);
    for (auto& [key, s] : m_senders) visit(key, s);
  }
  /// Returns the sequence that was visited with `key`, made if there is none.
  [[nodiscard]] sequence& sequence_at(std::uint64_t key) {
    return key < home_key ? m_senders[key] : m_home[(key - home_key) % m_home.size()];
  }

  /// Returns the key of the sequence of a message's sender.
  [[nodiscard]] static std::uint64_t key_of(const ticket& t) noexcept {
    return std::uint64_t(t.sender) * 2 + std::uint64_t(t.priority);
  }
  /// Returns the key of the sequence that holds a message.
  [[nodiscard]] static std::uint64_t key_of_holder(const ticket& t) noexcept {
    return t.home_number != 0 ? home_key + std::uint64_t(t.priority) : key_of(t);
  }

 private:
  static constexpr std::uint64_t home_key = std::uint64_t{ticket::no_sender} * 2;
  /// Does not allocate: `add` has made the sequence.
  [[nodiscard]] sequence& of_sender(const ticket& t) { return m_senders.find(key_of(t))->second; }
  [[nodiscard]] sequence& of_home(const ticket& t) noexcept {
    return m_home[std::size_t(t.priority)];
  }
  [[nodiscard]] bool is_next(const ticket& t);
  [[nodiscard]] bool follows_urgent(const ticket& t) const;
  [[nodiscard]] bool was_used(const ticket& t);
  void advance(tracked_item& m);
  bool hold(tracked_item& m);
  void take_held(sequence& s);

  std::array<sequence, 2> m_home{sequence{1}, sequence{1}};  // by priority
  std::unordered_map<std::uint64_t, sequence> m_senders;
  tracked_list m_ready;
};

/// What one worker knows about one element: a directory has an entry for each element that has been
/// on the worker, to which the worker has sent messages in sequences, or whose home it is.
struct location_entry {
  location known;                        // the newest location that the worker has received
  std::array<std::uint64_t, 2> sent{};   // by priority: the last number of the worker as a sender
  std::array<bool, 2> is_open{};         // by priority: that sequence may leave out the home
  std::array<std::uint64_t, 2> homed{};  // by priority: the last number of the worker as the home
  arrival_order* here = nullptr;         // of the element, if it is on this worker
  tracked_list early;                    // messages that arrived before the element

  /// Returns whether the element has ever migrated, as far as the worker knows.
  [[nodiscard]] bool is_tracked() const noexcept { return known.version != 0; }
  /// Stores a location that another worker has sent, if it is newer than the known one.
  void update(const location& l) noexcept {
    if (l.version > known.version) known = l;
  }
};

/// Numbers what worker `sender` sends to the element of `e` by way of the home.
void number_at_sender(location_entry& e, std::uint32_t sender, starling::priority priority,
                      ticket& t) noexcept;

/// Numbers a message that worker `sender` sends to the element of `e`, and returns the worker to
/// which it is sent: the known location of the element. Until the element's location has answered,
/// that is the home: only a message that the home has numbered opens a sequence.
[[nodiscard]] std::uint32_t route(location_entry& e, std::uint32_t sender, std::uint32_t home,
                                  starling::priority priority, ticket& t) noexcept;

/// Numbers a message that is sent behind all earlier ones of the worker, urgent ones included, by
/// way of the home. Its priority is normal.
void route_last(location_entry& e, std::uint32_t sender, ticket& t) noexcept;

/// Numbers a message in the home's sequence: one that a sender has sent to the home, or a part of a
/// broadcast. On the home of an element that has migrated.
void number_at_home(location_entry& e, ticket& t) noexcept;

/// What a worker does with a message to an element that has migrated.
enum class arrival : std::uint8_t {
  accept,   ///< the element is here
  hold,     ///< the element will arrive
  forward,  ///< the element has left; the ticket has the version of the known location
  refuse    ///< the message's sender knows another location with the version of the known one
};
/// Decides about a message with a ticket. On the worker of `e`; not on a home for a message that is
/// yet to be numbered there.
[[nodiscard]] arrival decide(const location_entry& e, ticket& t) noexcept;

}  // namespace starling::detail
