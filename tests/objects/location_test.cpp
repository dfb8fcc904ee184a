// SPDX-License-Identifier: Apache-2.0
// The protocol of elements that migrate, simulated: workers exchange messages by queues, and a
// seeded generator chooses what happens next. Every message must arrive once, in the order of its
// sender.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/objects/detail/location.hpp>

namespace starling {
namespace {

using namespace detail;

constexpr std::uint32_t home = 0;

/// A message to the element, from a worker or from a thread that is no worker.
struct letter : tracked_item {
  std::uint32_t from = 0;
  std::uint64_t text = 0;  // counts the messages of the sender, for each priority
  int hops = 0;
  std::uint64_t urgent = 0;  // the sender's last urgent message before this one, if it follows that
};

/// One element, and workers with a queue for each pair of them and each priority.
class simulation {
 public:
  simulation(std::uint64_t seed, std::uint32_t workers) : m_random(seed), m_workers(workers) {
    for (worker& w : m_workers) w.entry.known = {home, 0};
  }
  ~simulation() {
    while (tracked_item* m = m_order.drop_one()) delete static_cast<letter*>(m);
    for (worker& w : m_workers)
      while (tracked_item* m = w.entry.early.pop()) delete static_cast<letter*>(m);
  }

  /// Delivers messages as they arrive, which is wrong.
  void ignore_order() { m_ignores_order = true; }
  /// Sends one message, from a worker or from a thread that is none.
  void send() {
    const std::uint32_t from = below(std::uint32_t(m_workers.size()) + 1);
    letter& m = write(from, starling::priority(below(2)));
    // A worker may learn late that elements of the home have migrated.
    if (from < m_workers.size() && knows_of_migrations(m_workers[from])) return send(m);
    put(from, home, m);
  }
  /// Sends one message that must follow all earlier ones of its sender, urgent ones included.
  void send_last() {
    const std::uint32_t from = below(std::uint32_t(m_workers.size()) + 1);
    letter& m = write(from, priority::normal);
    m.position.is_last = true;
    m.urgent = m_written[{from, priority::high}];
    if (from < m_workers.size() && knows_of_migrations(m_workers[from]))
      route_last(m_workers[from].entry, from, m.position);
    put(from, home, m);
  }
  void send_from(std::uint32_t from) { send(write(from, starling::priority::normal)); }
  /// Sends one message by way of the home, as a broadcast does.
  void broadcast() {
    const std::uint32_t from = below(std::uint32_t(m_workers.size()));
    letter& m = write(from, starling::priority(below(2)));
    location_entry& e = m_workers[from].entry;
    if (e.sent[std::size_t(m.position.priority)] != 0) {
      static_cast<void>(route(e, from, home, m.position.priority, m.position));
      m.position.version = 0;
    }
    put(from, home, m);
  }
  /// Starts a migration, unless the element is migrating.
  void migrate_to(std::uint32_t to) {
    const std::uint32_t from = std::exchange(m_worker, under_way);
    if (from == under_way || from == to) return void(m_worker = from);
    location_entry& e = m_workers[from].entry;
    e.here = nullptr;
    e.known = {to, ++m_version};
    queue(from, to, starling::priority(below(2))).push_back({to, nullptr, e.known, true});
  }
  /// Processes one message of a queue. Returns false when all queues are empty.
  bool step() {
    std::vector<channel*> filled;
    for (auto& [key, c] : m_channels)
      if (!c.empty() && !waits_for_urgent(key, c)) filled.push_back(&c);
    if (filled.empty()) return false;
    channel& c = *filled[below(std::uint32_t(filled.size()))];
    parcel p = std::move(c.front());
    c.pop_front();
    if (p.message != nullptr)
      receive(p.to, std::move(p.message));
    else if (p.is_element)
      arrive(p.to, p.where);
    else
      take_hint(m_workers[p.to].entry, p);
    return true;
  }
  void settle() {
    while (step()) {
    }
  }
  void run(int events) {
    for (int i = 0; i < events; ++i) {
      const std::uint32_t dice = below(16);
      if (dice < 4)
        send();
      else if (dice < 5)
        broadcast();
      else if (dice < 6)
        migrate_to(below(std::uint32_t(m_workers.size())));
      else if (dice < 7)
        send_last();
      else
        step();
    }
    settle();
  }

  [[nodiscard]] std::uint64_t sent() const { return m_sent; }
  [[nodiscard]] std::uint64_t received() const { return m_received; }
  [[nodiscard]] bool is_in_order() const { return m_is_in_order; }
  [[nodiscard]] int hints() const { return m_hints; }
  /// Returns the most queues that a message has passed since the last call.
  [[nodiscard]] int most_hops() { return std::exchange(m_most_hops, 0); }

 private:
  static constexpr std::uint32_t under_way = ~std::uint32_t{0};
  struct worker {
    location_entry entry;
    bool knows = false;
  };
  /// A message, the element, or a hint.
  struct parcel {
    std::uint32_t to;
    std::unique_ptr<letter> message;
    location where{};
    bool is_element = false;
    int opens = -1;  // priority of the sequence that a hint opens
  };
  using channel = std::deque<parcel>;

  /// A worker processes urgent messages first.
  template <class Key>
  bool waits_for_urgent(const Key& key, const channel& c) {
    const auto [from, to, order] = key;
    const letter* const next = c.front().message.get();
    return next != nullptr && next->position.is_last && !queue(from, to, priority::high).empty();
  }
  std::uint32_t below(std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(m_random);
  }
  channel& queue(std::uint32_t from, std::uint32_t to, starling::priority order) {
    return m_channels[{from, to, order}];
  }
  letter& write(std::uint32_t from, starling::priority order) {
    auto* m = new letter;
    m->from = from;
    m->text = ++m_written[{from, order}];
    m->position.priority = order;
    ++m_sent;
    return *m;
  }
  void put(std::uint32_t from, std::uint32_t to, letter& m) {
    ++m.hops;
    queue(from, to, m.position.priority).push_back({to, std::unique_ptr<letter>(&m)});
  }
  void send(letter& m) {
    location_entry& e = m_workers[m.from].entry;
    put(m.from, route(e, m.from, home, m.position.priority, m.position), m);
  }
  bool knows_of_migrations(worker& w) {
    if (m_version != 0 && below(2) == 0) w.knows = true;
    return w.knows;
  }
  void tell(std::uint32_t from, std::uint32_t to, int opens) {
    m_hints += opens >= 0 ? 1 : 0;
    queue(from, to, starling::priority::high)
        .push_back({to, nullptr, m_workers[from].entry.known, false, opens});
  }
  static void take_hint(location_entry& e, const parcel& hint) {
    e.update(hint.where);
    if (hint.opens >= 0) e.is_open[std::size_t(hint.opens)] = true;
  }
  void arrive(std::uint32_t at, const location& now) {
    location_entry& e = m_workers[at].entry;
    m_worker = at;
    e.here = &m_order;
    e.known = now;
    if (at != home) tell(at, home, -1);
    tracked_list early(std::move(e.early));
    while (tracked_item* m = early.pop())
      receive(at, std::unique_ptr<letter>(static_cast<letter*>(m)));
  }
  void receive(std::uint32_t at, std::unique_ptr<letter> m) {
    location_entry& e = m_workers[at].entry;
    ticket& t = m->position;
    if (at == home && t.version == 0) {
      if (!e.is_tracked()) return deliver(*m);
      number_at_home(e, t);
    }
    switch (decide(e, t)) {
      case arrival::hold:
        return e.early.push(*m.release());
      case arrival::forward:
        return put(at, e.known.worker, *m.release());
      case arrival::refuse:
        FAIL() << "a message goes in a circle";
      case arrival::accept:
        break;
    }
    if (t.is_forwarded && t.has_sender() && m_order.tells(t, e.known.version))
      tell(at, t.sender, int(t.priority));
    if (m_ignores_order) return deliver(*m);
    ASSERT_TRUE(m_order.add(*m.release()));
    while (tracked_item* next = m_order.next())
      deliver(*std::unique_ptr<letter>(static_cast<letter*>(next)));
  }
  void deliver(const letter& m) {
    std::uint64_t& last = m_last[{m.from, m.position.priority}];
    m_is_in_order = m_is_in_order && m.text == last + 1;
    if (m.position.is_last)
      m_is_in_order = m_is_in_order && m_last[{m.from, priority::high}] >= m.urgent;
    last = m.text;
    ++m_received;
    m_most_hops = std::max(m_most_hops, m.hops);
  }

  std::mt19937_64 m_random;
  std::vector<worker> m_workers;
  std::map<std::tuple<std::uint32_t, std::uint32_t, starling::priority>, channel> m_channels;
  // The element: its state, and the messages that were delivered to it.
  arrival_order m_order;
  std::uint32_t m_worker = home;
  std::uint32_t m_version = 0;
  std::map<std::pair<std::uint32_t, starling::priority>, std::uint64_t> m_written, m_last;
  std::uint64_t m_sent = 0;
  std::uint64_t m_received = 0;
  bool m_is_in_order = true;
  bool m_ignores_order = false;
  int m_most_hops = 0;
  int m_hints = 0;  // to senders
};

TEST(location, every_message_arrives_once_and_in_the_order_of_its_sender) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    simulation s(seed, 2 + std::uint32_t(seed % 5));
    s.run(400);
    ASSERT_EQ(s.received(), s.sent()) << "seed " << seed;
    ASSERT_TRUE(s.is_in_order()) << "seed " << seed;
  }
}

TEST(location, messages_delivered_as_they_arrive_lose_their_order) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulation s(seed, 4);
    s.ignore_order();
    s.run(400);
    EXPECT_EQ(s.received(), s.sent());
    wrong += s.is_in_order() ? 0 : 1;
  }
  EXPECT_GT(wrong, 0);
}

TEST(location, the_second_message_after_a_migration_takes_no_additional_hop) {
  simulation s(1, 4);
  s.migrate_to(2);
  s.settle();
  for (const std::uint32_t next : {3u, 2u, 0u, 3u}) {
    s.send_from(1);  // by way of the home or of the former location
    s.settle();
    EXPECT_EQ(s.most_hops(), 2);
    s.send_from(1);
    s.send_from(1);
    s.settle();
    EXPECT_EQ(s.most_hops(), 1);
    s.migrate_to(next);
    s.settle();
  }
  EXPECT_EQ(s.received(), s.sent());
}

TEST(location, a_sender_is_told_each_location_once_for_each_priority) {
  simulation s(1, 4);
  s.migrate_to(2);
  s.settle();
  int expected = 0;
  for (const std::uint32_t next : {3u, 2u, 0u, 3u}) {
    for (int n = 0; n < 10; ++n) s.send_from(1);  // all by way of a worker without the element
    s.settle();
    EXPECT_EQ(s.hints(), ++expected);
    s.migrate_to(next);
    s.settle();
  }
}

TEST(location, messages_to_a_worker_that_never_had_the_element_are_refused) {
  location_entry e;
  e.known = {2, 5};
  ticket t{.version = 5};
  EXPECT_EQ(decide(e, t), arrival::refuse) << "it would go to worker 2, and may have come from it";
  t.version = 6;
  EXPECT_EQ(decide(e, t), arrival::hold);
  t.version = 4;
  EXPECT_EQ(decide(e, t), arrival::forward);
  EXPECT_EQ(t.version, 5u);
}

TEST(location, messages_that_are_never_delivered_are_disposed_of) {
  static int disposed = 0;
  disposed = 0;
  const auto count = [](tracked_item&) noexcept { ++disposed; };
  tracked_item early, held, ready;
  for (tracked_item* m : {&early, &held, &ready}) {
    m->dispose = count;
    m->position.home_number = 2;
  }
  ready.position.home_number = 1;
  ready.position.priority = priority::high;
  {
    location_entry e;
    e.early.push(early);
    arrival_order order;
    EXPECT_TRUE(order.add(held));
    EXPECT_TRUE(order.add(ready));
    EXPECT_EQ(order.count_held(), 1u);
  }
  EXPECT_EQ(disposed, 3);
}

TEST(location, a_number_that_was_used_is_refused) {
  arrival_order order;
  const auto message = [](std::uint64_t number, std::uint64_t by_home) {
    tracked_item m;
    m.position.sender = 1;
    m.position.number = number;
    m.position.home_number = by_home;
    return m;
  };
  auto first = message(1, 1), second = message(2, 0), fourth = message(4, 0);
  auto twice = message(1, 1), held_twice = message(4, 0), late = message(2, 0);
  EXPECT_TRUE(order.add(first));
  EXPECT_FALSE(order.add(twice));
  EXPECT_TRUE(order.add(fourth));
  EXPECT_FALSE(order.add(held_twice));
  EXPECT_TRUE(order.add(second));
  EXPECT_FALSE(order.add(late));
  EXPECT_EQ(order.next(), &first);
  EXPECT_EQ(order.next(), &second);
  EXPECT_EQ(order.next(), nullptr) << "the third one is missing";
  EXPECT_EQ(order.drop_one(), &fourth);
  EXPECT_EQ(order.drop_one(), nullptr);
}

}  // namespace
}  // namespace starling
