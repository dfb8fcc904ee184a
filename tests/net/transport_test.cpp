// SPDX-License-Identifier: Apache-2.0
// Messages: the tests that every transport must pass.
#include <poll.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "support/huge_pages.hpp"
#include "transports.hpp"

namespace starling {
namespace {

using starling_test::drive;

class transports : public starling_test::with_ranks {};
INSTANTIATE_TEST_SUITE_P(on, transports, starling_test::all_settings, starling_test::name_of);

constexpr std::size_t header_bytes = 2 * sizeof(std::uint32_t);  // of a numbered message

/// Returns `size` bytes that count up from `first`. Copied and compared as a whole: byte by byte
/// takes long under a sanitizer.
const std::byte* counting_bytes(std::uint32_t first, std::size_t size) {
  static const std::vector<std::byte> all = [] {
    std::vector<std::byte> bytes((4u << 20) + 256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    return bytes;
  }();
  EXPECT_LE(size + 256, all.size());
  return all.data() + first % 256;
}

/// Returns a message with its number and its sending thread; these determine its further bytes.
message numbered(std::uint32_t thread, std::uint32_t number, std::size_t size) {
  message m(std::max(size, header_bytes));
  std::memcpy(m.data(), &thread, sizeof thread);
  std::memcpy(m.data() + sizeof thread, &number, sizeof number);
  std::memcpy(m.data() + header_bytes, counting_bytes(number, m.size()), m.size() - header_bytes);
  return m;
}

/// Counts correct messages in order, for each sending rank and thread.
struct inspector {
  static void take(void* self, int from, message m) noexcept {
    static_cast<inspector*>(self)->look_at(from, m);
  }
  void look_at(int from, const message& m) {
    std::uint32_t thread = 0, number = 0;
    ASSERT_GE(m.size(), 2 * sizeof number);
    std::memcpy(&thread, m.data(), sizeof thread);
    std::memcpy(&number, m.data() + sizeof thread, sizeof number);
    EXPECT_EQ(number, (next[{from, thread}]++)) << "from rank " << from;
    const std::byte* expected = counting_bytes(number, m.size());
    const std::byte *begin = m.data() + header_bytes, *end = m.data() + m.size();
    EXPECT_EQ(std::memcmp(begin, expected, m.size() - header_bytes), 0)
        << "byte " << std::mismatch(begin, end, expected).first - m.data() << " of " << m.size()
        << " is wrong";
    ++count;
  }
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> next;
  std::size_t count = 0;
};

TEST(messages, have_huge_pages_where_they_are_large) {
  if (!starling_test::shows_huge_pages()) GTEST_SKIP() << starling_test::no_huge_pages;
  const message large(std::size_t(40) << 20);
  EXPECT_TRUE(starling_test::has_huge_pages(large.bytes().data() + large.size() / 2));
}

TEST_P(transports, bring_messages_of_any_size_in_order) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(3, &inspector::take, &seen);
    std::mt19937 random(7);
    const std::size_t sizes[] = {8, 64, 1000, 9000, 70'000, 1'200'000};
    constexpr std::uint32_t messages = 120;
    for (std::uint32_t i = 0; i < messages; ++i)
      for (int to = 0; to < t.size(); ++to)
        t.send(to, 3, numbered(0, i, sizes[random() % std::size(sizes)]));
    t.finish();
    drive(t, [&] { return seen.next[{t.rank(), 0}] == messages; });  // its own
    EXPECT_EQ(seen.count, messages * std::size_t(t.size()));
    EXPECT_EQ(t.in_flight(), 0u);
  });
}

TEST_P(transports, bring_messages_without_bytes) {
  run([](transport& t) {
    int come = 0;
    const auto count = [](void* n, int, message m) noexcept {
      EXPECT_EQ(m.size(), 0u);
      ++*static_cast<int*>(n);
    };
    t.set_handler(0, count, &come);
    for (int to = 0; to < t.size(); ++to) t.send(to, 0, message());
    drive(t, [&] { return come == t.size(); });
    t.finish();
  });
}

/// A message's own and attached bytes arrive as one message, whatever the sizes of the two.
TEST_P(transports, bring_memory_that_is_sent_in_place) {
  constexpr std::size_t own[] = {8, 100, 3000, 70'000}, attached[] = {0, 1, 5000, 1'000'000};
  std::atomic<int> owners{0};
  run([&](transport& t) {
    inspector seen;
    t.set_handler(3, &inspector::take, &seen);
    std::uint32_t number = 0;
    for (const std::size_t head : own)
      for (const std::size_t tail : attached) {
        const message whole = numbered(0, number++, head + tail);
        ++owners;
        const auto bytes = std::shared_ptr<std::vector<std::byte>>(
            new std::vector(whole.bytes().begin() + std::ptrdiff_t(head), whole.bytes().end()),
            [&](const std::vector<std::byte>* v) {
              delete v;
              --owners;
            });
        for (int to = 0; to < t.size(); ++to) {
          message m(head, *bytes, bytes);
          std::ranges::copy(whole.bytes().first(head), m.data());
          EXPECT_EQ(m.size(), head + tail);
          t.send(to, 3, to % 2 == 0 ? std::move(m) : m.behind(0));
        }
      }
    drive(t, [&] { return seen.count == std::size(own) * std::size(attached) * t.size(); });
    t.finish();
    EXPECT_EQ(seen.next[(std::pair{t.rank(), 0u})], std::size(own) * std::size(attached));
  });
  EXPECT_EQ(owners.load(), 0);
}

/// The transport holds no lock while it releases an owner.
TEST_P(transports, let_owners_send_when_they_are_released) {
  run([](transport& t) {
    std::atomic<std::size_t> come{0};
    const auto count = [](void* n, int, message) noexcept {
      ++*static_cast<std::atomic<std::size_t>*>(n);
    };
    t.set_handler(1, count, &come);
    const int next = (t.rank() + 1) % t.size();
    const std::vector<std::byte> memory(200'000);
    constexpr std::size_t sizes[] = {10, 9000, 200'000};
    for (const std::size_t size : sizes) {
      const std::shared_ptr<const void> owner(
          &memory, [&t, next](const void*) { t.send(next, 1, message(8)); });
      t.send(next, 1, message(16, std::span(memory).first(size), owner));
    }
    drive(t, [&] { return come == 2 * std::size(sizes); });
    t.finish();
  });
}

/// Bytes that a receiver keeps (`message::share`) do not count against their sender's window.
TEST_P(transports, do_not_hold_up_the_sender_of_kept_messages) {
  transport::options small;
  small.window = 4096;
  struct keeper {
    std::vector<std::shared_ptr<const void>> kept;
    static void take(void* self, int, message m) noexcept {
      const void* const where = m.data();
      auto& k = *static_cast<keeper*>(self);
      k.kept.push_back(message::share(m));
      EXPECT_EQ(std::memcmp(where, "kept", 4), 0);
    }
  };
  constexpr std::size_t messages = 100;
  run(
      [](transport& t) {
        keeper k;
        t.set_handler(0, &keeper::take, &k);
        for (std::size_t i = 0; i < messages; ++i) {
          message m(1000);
          std::memcpy(m.data(), "kept", 4);
          t.send((t.rank() + 1) % t.size(), 0, std::move(m));
        }
        drive(t, [&] { return k.kept.size() == messages; });
        t.finish();
      },
      small);
}

TEST_P(transports, keep_the_order_of_each_thread_that_sends) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(0, &inspector::take, &seen);
    constexpr std::uint32_t threads = 3, messages = 2000;
    std::vector<std::thread> senders;
    for (std::uint32_t n = 0; n < threads; ++n)
      senders.emplace_back([&t, n] {
        for (std::uint32_t i = 0; i < messages; ++i)
          t.send((t.rank() + 1) % t.size(), 0, numbered(n, i, 8 + i % 50));
      });
    drive(t, [&] { return seen.count == threads * messages; });
    for (std::thread& s : senders) s.join();
    t.finish();
  });
}

/// A received message may be sent on; it then no longer counts against its first sender's window.
TEST_P(transports, let_handlers_answer) {
  transport::options small;
  small.window = 4096;
  struct player {
    transport* t;
    int hits = 0;
    static void hit(void* self, int from, message m) noexcept {
      auto& p = *static_cast<player*>(self);
      if (++p.hits < 2000) p.t->send(from, 5, std::move(m));
    }
  };
  run(
      [](transport& t) {
        player p{&t};
        t.set_handler(5, &player::hit, &p);
        t.send((t.rank() + 1) % t.size(), 5, message(16));  // each rank serves
        if (t.size() <= 2)
          drive(t, [&] { return p.hits >= 2000; });
        else
          drive(t, [&] { return p.hits >= 1; });
        t.finish();
      },
      small);
}

/// Keeps messages until `let_go`.
struct hoarder {
  static void take(void* self, int, message m) noexcept {
    auto& h = *static_cast<hoarder*>(self);
    h.bytes += m.size();
    h.most = std::max(h.most, h.bytes);
    h.kept.push_back(std::move(m));
    ++h.count;
  }
  void let_go() {
    for (const message& m : kept) bytes -= m.size();
    kept.clear();
  }
  std::vector<message> kept;
  std::size_t bytes = 0, most = 0, count = 0;
};

TEST_P(transports, hold_up_a_sender_that_exceeds_its_window) {
  constexpr std::size_t window = 64 * 1024, messages = 5000, size = 200;
  transport::options o;
  o.window = window;
  std::atomic<bool> was_held_up{false};
  run(
      [&](transport& t) {
        hoarder h;
        t.set_handler(0, &hoarder::take, &h);
        if (t.size() > 1 && t.rank() == 1) {
          for (std::size_t i = 0; i < messages; ++i) t.send(0, 0, message(size));
          was_held_up = t.is_congested(0);
          EXPECT_TRUE(was_held_up);
          was_held_up = true;
        }
        if (t.size() > 1 && t.rank() == 0) {
          drive(t, [&] { return was_held_up.load() && h.count > 0; });
          for (int quiet = 0; quiet < 1000; ++quiet) static_cast<void>(t.progress());
          EXPECT_LT(h.count, window / size);  // each counts for a little more than its bytes
          h.let_go();
          while (h.count < messages) {
            static_cast<void>(t.progress());
            EXPECT_LT(h.kept.size(), window / size);
            h.let_go();
          }
        }
        t.finish();
        EXPECT_EQ(t.in_flight(), 0u);
      },
      o);
}

TEST_P(transports, finish_while_messages_are_kept) {
  transport::options o;
  o.window = 64 * 1024;
  run(
      [&](transport& t) {
        hoarder h;
        t.set_handler(0, &hoarder::take, &h);
        for (int to = 0; to < t.size(); ++to)
          if (to != t.rank())
            for (int i = 0; i < 70; ++i) t.send(to, 0, message(800));  // nearly a window
        t.finish();
        EXPECT_EQ(h.count, 70u * std::size_t(t.size() - 1));
      },
      o);
}

TEST_P(transports, bring_a_message_larger_than_the_window) {
  transport::options o;
  o.window = 1024;
  run(
      [](transport& t) {
        inspector seen;
        t.set_handler(0, &inspector::take, &seen);
        for (std::uint32_t i = 0; i < 5; ++i)
          for (int to = 0; to < t.size(); ++to) t.send(to, 0, numbered(0, i, 300'000));
        drive(t, [&] { return seen.count == 5u * std::size_t(t.size()); });
        t.finish();
      },
      o);
}

TEST_P(transports, refuse_ranks_and_handlers_that_do_not_exist) {
  run([](transport& t) {
    EXPECT_THROW(t.send(-1, 0, message(1)), usage_error);
    EXPECT_THROW(t.send(t.size(), 0, message(1)), usage_error);
    EXPECT_THROW(t.send(0, transport::handler_limit, message(1)), usage_error);
    t.finish();
  });
}

TEST_P(transports, finish_repeatedly_after_all_sent_messages) {
  run([](transport& t) {
    inspector seen;
    t.set_handler(0, &inspector::take, &seen);
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (int to = 0; to < t.size(); ++to)
        if (to != t.rank()) t.send(to, 0, numbered(0, round, 100 + 5000 * (round % 3)));
      t.finish();
      EXPECT_GE(seen.count, (round + 1) * std::size_t(t.size() - 1));
    }
  });
}

TEST_P(transports, wake_sleeping_ranks) {
  run([](transport& t) {
    int come = 0;
    t.set_handler(
        0, [](void* n, int, message) noexcept { ++*static_cast<int*>(n); }, &come);
    if (t.event_descriptor() < 0 || t.size() == 1) return t.finish();
    for (int round = 0; round < 50; ++round) {
      if (t.rank() == 0) {
        for (int to = 1; to < t.size(); ++to) t.send(to, 0, message(round % 2 == 0 ? 8 : 50'000));
        drive(t, [&] { return come == (round + 1) * (t.size() - 1); });
        continue;
      }
      while (come == round) {
        while (t.progress()) {
        }
        if (come != round || !t.arm()) continue;
        pollfd fd{t.event_descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&fd, 1, 20'000), 1) << "no message woke rank " << t.rank();
      }
      t.send(0, 0, message(8));
    }
    t.finish();
  });
}

}  // namespace
}  // namespace starling
