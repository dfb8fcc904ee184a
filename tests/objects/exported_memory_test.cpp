// SPDX-License-Identifier: Apache-2.0
// Device memory of elements that migrate to another rank of the host, which reads it in place.
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "named_array.hpp"
#include "stored_numbers.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::named_array;
using starling_test::on_worker_0;
using starling_test::over_ucx;
using starling_test::stay_in_place;
using starling_test::stored_numbers;

constexpr std::size_t large = detail::worth_exporting / sizeof(std::uint64_t) + 1000;
constexpr std::size_t small = 100;
constexpr std::size_t large_bytes = large * sizeof(std::uint64_t);

std::size_t device_memory_in_use(runtime& rt) {
  return devices(rt).here().allocator(memory_kind::device).statistics().in_use;
}

/// An element with two large buffers and a small one.
struct keeper : chare<keeper> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_one, m_moves, m_two, m_three);
  }
  task<> fill() {
    co_await m_one.fill(large, first());
    co_await m_two.fill(small, first() + 1);
    co_await m_three.fill(large, first() + 2);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  void after_migration() { ++m_moves; }
  /// Returns the number of migrations; 0: contents are wrong.
  task<int> look() {
    const bool is_whole = co_await m_one.has(large, first()) &&
                          co_await m_two.has(small, first() + 1) &&
                          co_await m_three.has(large, first() + 2);
    co_return is_whole ? m_moves : 0;
  }

 private:
  std::uint64_t first() { return std::uint64_t(this_index()) * 10'000'000; }

  stored_numbers m_one, m_two, m_three;
  int m_moves = 0;
};

/// Counts the sent messages that have the contents of a large buffer.
struct large_messages {
  std::atomic<int> count{0};

  [[nodiscard]] auto tap() {
    return [this](std::unique_ptr<transport> t) -> std::unique_ptr<transport> {
      return std::make_unique<starling_test::tapped_transport>(
          std::move(t), [](message m) { return m; },
          [this](const message& m) {
            if (m.size() >= large_bytes) ++count;
          });
    };
  }
};

constexpr int keepers = 3;
constexpr int rounds = 5;  // the last one ends on rank 1

/// Moves all elements to and fro. At the end rank 0, which has none, has no device memory.
task<int> move_to_and_fro(runtime& rt) {
  stay_in_place(rt, "counts messages, and the memory of rank 0");
  const auto all = create_array<keeper>(rt, keepers, on_worker_0());
  for (int i = 0; i < keepers; ++i) co_await all[i].call<&keeper::fill>();
  for (int round = 1; round <= rounds; ++round) {
    for (int i = 0; i < keepers; ++i) all[i].invoke<&keeper::go>(round % 2);
    co_await quiescence();
    for (int i = 0; i < keepers; ++i) EXPECT_EQ(co_await all[i].call<&keeper::look>(), round) << i;
  }
  EXPECT_EQ(device_memory_in_use(rt), 0u);
  co_return 0;
}

class exported_memory : public starling_test::on_clusters {
 protected:
  /// Expects that `main` ends well on all ranks. Returns the number of messages with the contents
  /// of large buffers.
  template <class Main>
  int large_messages_of(const Main& main) {
    large_messages sent;
    for (const cluster::end& e : all.run(main, sent.tap()))
      EXPECT_EQ(e.status, 0) << cluster::text_of(e);
    return sent.count;
  }
  [[nodiscard]] bool is_mapped() const { return all.memory == std::string("map"); }
};
INSTANTIATE_TEST_SUITE_P(on, exported_memory,
                         testing::Values(cluster{2, 1}, cluster{2, 1, "refuse"},
                                         cluster{2, 1, "stage"}, over_ucx({2, 1})),
                         starling_test::cluster_name);

TEST_P(exported_memory, is_read_in_place_or_sent_once) {
  EXPECT_EQ(large_messages_of(move_to_and_fro), is_mapped() ? 0 : keepers * rounds);
}

// --- buffers that the element does not hold itself

std::size_t packed_bytes = 0;  // of the message that a collector writes meanwhile

/// Writes a buffer in a container, a temporary copy, and a message.
struct collector : chare<collector> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
    if constexpr (Archive::is_reading) {
      ar(m_last);
    } else {
      packed_bytes = pack(m_numbers.at(0)).size();
      ar(constant(9));
    }
  }
  task<> fill() {
    m_numbers.resize(2);
    co_await m_numbers[0].fill(large, 1);
    co_await m_numbers[1].fill(large, 2);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  task<bool> is_whole() {
    co_return co_await m_numbers.at(0).has(large, 1) && co_await m_numbers.at(1).has(large, 2) &&
        co_await m_last.is(large, 9);
  }

 private:
  /// Returns equal numbers, in memory that is freed when `serialize` continues.
  static buffer<std::uint64_t> constant(std::uint64_t value) {
    device& here = devices(*runtime::current()).here();
    stream at = here.make_stream();
    auto result = here.allocate<std::uint64_t>(memory_kind::device, large, at);
    at.fill(result, value);
    return result;
  }

  std::vector<stored_numbers> m_numbers;
  stored_numbers m_last;
};

TEST_P(exported_memory, is_that_of_buffers_in_the_element_alone) {
  static_cast<void>(large_messages_of([](runtime& rt) -> task<int> {
    stay_in_place(rt, "counts bytes");
    const auto one = create_array<collector>(rt, 1, on_worker_0());
    co_await one[0].call<&collector::fill>();
    one[0].invoke<&collector::go>(1);
    co_await quiescence();
    EXPECT_TRUE(co_await one[0].call<&collector::is_whole>());
    co_return 0;
  }));
  EXPECT_GE(packed_bytes, large_bytes);
}

// --- two elements in one message

template <class T>
struct leader_of : chare<T> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
  }
  task<> fill() { co_await m_numbers.fill(large, 7); }
  void go(int to) { this->migrate_to(std::size_t(to)); }
  task<bool> is_whole() { return m_numbers.has(large, 7); }

 private:
  stored_numbers m_numbers;
};
struct leader : leader_of<leader> {};
struct follower : chare<follower> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers, m_more);
  }
  task<> fill() {
    co_await m_numbers.fill(large + 1, 77);
    co_await m_more.fill(large + 2, 777);
  }
  task<bool> is_whole() {
    co_return co_await m_numbers.has(large + 1, 77) && co_await m_more.has(large + 2, 777);
  }

 private:
  stored_numbers m_numbers, m_more;
};

TEST_P(exported_memory, of_bound_elements_is_not_mixed_up) {
  const int sent = large_messages_of([](runtime& rt) -> task<int> {
    stay_in_place(rt, "counts messages");
    const auto both = create_bound_arrays<leader, follower>(rt, 1, on_worker_0());
    co_await both.leaders[0].call<&leader::fill>();
    co_await both.followers[0].call<&follower::fill>();
    for (const int to : {1, 0, 1}) {
      both.leaders[0].invoke<&leader::go>(to);
      co_await quiescence();
      EXPECT_TRUE(co_await both.leaders[0].call<&leader::is_whole>());
      EXPECT_TRUE(co_await both.followers[0].call<&follower::is_whole>());
    }
    EXPECT_EQ(device_memory_in_use(rt), 0u);
    co_return 0;
  });
  EXPECT_EQ(sent, is_mapped() ? 0 : 3);
}

// --- a device without room

buffer<std::byte>* ballast = nullptr;  // on the device of rank 1

/// Frees the ballast when it is deleted on the rank that it leaves.
struct heavy : leader_of<heavy> {
  heavy() = default;
  explicit heavy(migrated) : m_has_arrived(true) {}
  ~heavy() {
    if (!m_has_arrived) *ballast = {};
  }
  /// Leaves no room for the contents of an element on the device of this worker.
  void fill_device() {
    recycling_allocator& memory =
        devices(*runtime::current()).here().allocator(memory_kind::device);
    *ballast = buffer<std::byte>(memory, large_bytes);
    memory.set_total_limit(memory.statistics().in_use);
  }

 private:
  bool m_has_arrived = false;
};

TEST(exported_memory_of_a_rank, is_sent_and_freed_if_the_receiver_has_no_room) {
  buffer<std::byte> held;
  ballast = &held;
  large_messages sent;
  const auto ends = cluster{2, 1}.run(
      [](runtime& rt) -> task<int> {
        stay_in_place(rt, "only one device has room");
        const auto both = create_array<heavy>(rt, 2, placement::block);
        co_await both[0].call<&heavy::fill>();
        co_await both[1].call<&heavy::fill_device>();
        both[0].invoke<&heavy::go>(1);
        co_await quiescence();
        EXPECT_TRUE(co_await both[0].call<&heavy::is_whole>());
        EXPECT_EQ(device_memory_in_use(rt), 0u);
        co_return 0;
      },
      sent.tap());
  for (const cluster::end& e : ends) EXPECT_EQ(e.status, 0) << cluster::text_of(e);
  EXPECT_EQ(sent.count, 1);
}

// --- states that cannot be read yet, or not at all

std::atomic<int> attempts{0};  // to read a traveller
std::atomic<int> alive{0};     // travellers

enum class ending : std::uint8_t { none, error, exit };

struct traveller : chare<traveller> {
  traveller() { ++alive; }
  ~traveller() { --alive; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
    if constexpr (Archive::is_reading) ++attempts;
    ar(m_name, m_ending);
    if (!Archive::is_reading || m_ending == ending::none) return;
    if (m_ending == ending::error) throw std::runtime_error("it is broken");
    exit_run(7);
  }
  task<> fill() { co_await m_numbers.fill(large, 5); }
  void go(int to, detail::object_id needs) {
    m_name.id = needs;
    migrate_to(std::size_t(to));
  }
  void go_and_end(int to, ending how) {
    m_ending = how;
    migrate_to(std::size_t(to));
  }
  task<bool> is_whole() { return m_numbers.has(large, 5); }
  detail::object_id make_array() {
    return create_array<traveller>(*runtime::current(), 1, on_worker_0()).state().id();
  }

 private:
  stored_numbers m_numbers;
  named_array m_name;
  ending m_ending = ending::none;
};

TEST_P(exported_memory, is_kept_until_the_state_can_be_read) {
  cluster three = all;
  three.ranks = 3;
  attempts = 0;
  three.expect(0, [kept = is_mapped() ? large_bytes : 0](runtime& rt) -> task<int> {
    stay_in_place(rt, "names objects, and needs the memory of rank 0");
    const std::size_t least = kept;
    const auto one = create_array<traveller>(rt, 3, placement::block);
    const detail::object_id next = (detail::object_id{2} << detail::object_counter_bits) + 1;
    co_await one[0].call<&traveller::fill>();
    one[0].invoke<&traveller::go>(1, next);
    while (attempts == 0) co_await yield();
    EXPECT_GE(device_memory_in_use(rt), least);
    EXPECT_EQ(co_await one[2].call<&traveller::make_array>(), next);
    EXPECT_TRUE(co_await one[0].call<&traveller::is_whole>());
    co_await quiescence();
    EXPECT_EQ(device_memory_in_use(rt), 0u);
    co_return 0;
  });
  EXPECT_GT(attempts, 1);
}

/// Lets a run end when an element has arrived and its memory is still exported.
std::vector<cluster::end> ends_of(const cluster& all, ending how) {
  alive = 0;
  const auto ends = all.run([how](runtime& rt) -> task<int> {
    stay_in_place(rt, "it has to migrate from rank 0");
    const auto one = create_array<traveller>(rt, 1, on_worker_0());
    const ending chosen = how;
    co_await one[0].call<&traveller::fill>();
    one[0].invoke<&traveller::go_and_end>(1, chosen);
    co_await quiescence();
    co_return 0;
  });
  EXPECT_EQ(alive, 0);
  return ends;
}

TEST_P(exported_memory, is_freed_when_the_run_ends_with_an_error) {
  const auto ends = ends_of(all, ending::error);
  EXPECT_NE(cluster::text_of(ends[0]).find("it is broken"), std::string::npos)
      << cluster::text_of(ends[0]);
}

TEST_P(exported_memory, is_freed_when_the_run_exits) {
  for (const cluster::end& e : ends_of(all, ending::exit)) EXPECT_EQ(e.status, 7);
}

}  // namespace
}  // namespace starling
