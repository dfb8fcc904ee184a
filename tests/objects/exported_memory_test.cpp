// SPDX-License-Identifier: Apache-2.0
// Device memory of elements that migrate to another rank of the host, which reads it in place.
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::over_ucx;
using starling_test::stay_in_place;
using numbers = std::vector<std::uint64_t>;

struct on_rank_0 {
  std::size_t operator()(int, std::uint64_t) const { return 0; }
};

constexpr std::size_t large = detail::worth_exporting / sizeof(std::uint64_t) + 1000;
constexpr std::size_t small = 100;
constexpr std::size_t large_bytes = large * sizeof(std::uint64_t);

/// Device memory with the numbers from `first` on.
class stored_numbers {
 public:
  task<> fill(std::size_t count, std::uint64_t first) {
    m_at = devices(*runtime::current()).here().make_stream();
    m_memory = m_at.device().allocate<std::uint64_t>(memory_kind::device, count, m_at);
    numbers from(count);
    std::iota(from.begin(), from.end(), first);
    m_at.copy(m_memory, from);
    co_await m_at.completion();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_memory);
    if constexpr (Archive::is_reading) {
      m_at = devices(*runtime::current()).here().make_stream();
      m_memory.release_on(m_at);
    }
  }
  task<bool> has(std::size_t count, std::uint64_t first) {
    numbers found(m_memory.size()), expected(count);
    m_at.copy(found, std::as_const(m_memory).span());
    co_await m_at.completion();
    std::iota(expected.begin(), expected.end(), first);
    co_return found == expected;
  }

 private:
  stream m_at;
  buffer<std::uint64_t> m_memory;
};

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
  const auto all = create_array<keeper>(rt, keepers, on_rank_0());
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

// --- two elements in one message

struct leader : chare<leader> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
  }
  task<> fill() { co_await m_numbers.fill(large, 7); }
  void go(int to) { migrate_to(std::size_t(to)); }
  task<bool> is_whole() { return m_numbers.has(large, 7); }

 private:
  stored_numbers m_numbers;
};
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
    const auto both = create_bound_arrays<leader, follower>(rt, 1, on_rank_0());
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

// --- states that cannot be read yet, or not at all

/// Names an array, which must exist where this is read.
struct named_array {
  detail::object_id id = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(id);
    if constexpr (Archive::is_reading)
      if (id != 0) static_cast<void>(detail::receiving_space().array(id));
  }
};

std::atomic<int> attempts{0};  // to read a traveller

struct traveller : chare<traveller> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
    if constexpr (Archive::is_reading) ++attempts;
    ar(m_name, m_is_broken);
    if (Archive::is_reading && m_is_broken) throw std::runtime_error("it is broken");
  }
  task<> fill() { co_await m_numbers.fill(large, 5); }
  void go(int to, detail::object_id needs) {
    m_name.id = needs;
    migrate_to(std::size_t(to));
  }
  void go_broken(int to) {
    m_is_broken = true;
    migrate_to(std::size_t(to));
  }
  task<bool> is_whole() { return m_numbers.has(large, 5); }
  detail::object_id make_array() {
    return create_array<traveller>(*runtime::current(), 1, on_rank_0()).state().id();
  }

 private:
  stored_numbers m_numbers;
  named_array m_name;
  bool m_is_broken = false;
};

TEST_P(exported_memory, is_kept_until_the_state_can_be_read) {
  cluster three = all;
  three.ranks = 3;
  attempts = 0;
  three.expect(0, [](runtime& rt) -> task<int> {
    stay_in_place(rt, "names objects, and needs the memory of rank 0");
    const auto one = create_array<traveller>(rt, 3, placement::block);
    const detail::object_id next = (detail::object_id{2} << detail::object_counter_bits) + 1;
    co_await one[0].call<&traveller::fill>();
    one[0].invoke<&traveller::go>(1, next);
    while (attempts == 0) co_await yield();
    EXPECT_EQ(co_await one[2].call<&traveller::make_array>(), next);
    EXPECT_TRUE(co_await one[0].call<&traveller::is_whole>());
    co_await quiescence();
    EXPECT_EQ(device_memory_in_use(rt), 0u);
    co_return 0;
  });
  EXPECT_GT(attempts, 1);
}

TEST_P(exported_memory, is_freed_when_the_run_ends_with_an_error) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto one = create_array<traveller>(rt, 1, on_rank_0());
    co_await one[0].call<&traveller::fill>();
    one[0].invoke<&traveller::go_broken>(1);
    co_await quiescence();
    co_return 0;
  });
  EXPECT_NE(cluster::text_of(ends[0]).find("it is broken"), std::string::npos)
      << cluster::text_of(ends[0]);
}

// --- invalid messages

struct holder : chare<holder> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_memory);
  }
  void go(int to) { migrate_to(std::size_t(to)); }

 private:
  buffer<std::uint64_t> m_memory;
};

/// What a forged arrival of an element says of exported memory, in the order of a message.
struct forged_memory {
  std::vector<detail::exported_piece> pieces;
  detail::reply_address answer_to;
  std::vector<std::vector<std::byte>> contents;
};

/// Returns the error of a run in which rank 1 receives an element from rank 0 whose buffer of
/// `count` elements is said to be exported.
std::string error_of_arrival(const forged_memory& memory, std::uint64_t count) {
  const auto ends = cluster{2, 1}.run([&](runtime& rt) -> task<int> {
    stay_in_place(rt, "the message names locations");
    const forged_memory m = memory;
    std::vector<std::byte> state;
    output_archive ar(state);
    ar(count, memory_kind(memory_kinds));
    const auto all = create_array<holder>(rt, 1, [](int, std::uint64_t) { return 1; });
    all[0].invoke<&holder::go>(0);
    co_await quiescence();
    detail::job& j = *rt.service<detail::object_space>().current_job();
    const auto send = [&](const auto&... values) {
      j.send(1, detail::make_remote<detail::remote_element<holder>>(
                    {0, priority::high}, all.state().id(), std::uint32_t{0}, detail::location{1, 2},
                    false, shared_buffer<std::byte>(std::vector(state)), m.pieces, values...));
    };
    if (m.pieces.empty())
      send();
    else
      send(m.answer_to, m.contents);
    co_await quiescence();
    co_return 0;
  });
  return cluster::text_of(ends[0]);
}

void expect_refused(const forged_memory& memory, std::uint64_t count, const std::string& why) {
  const std::string error = error_of_arrival(memory, count);
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(forged_exported_memory, without_an_answer_has_contents_of_all_pieces) {
  expect_refused({{{{}, 80}, {{}, 80}}, {}, {std::vector<std::byte>(80)}}, 10,
                 "exported memory is invalid");
}

TEST(forged_exported_memory, is_answered_to_its_sender_only) {
  expect_refused({{{{}, 80}}, {1, 0, 7}, {}}, 10, "exported memory is invalid");
}

TEST(forged_exported_memory, has_the_size_of_the_buffer) {
  expect_refused({{{{}, 80}}, {}, {std::vector<std::byte>(80)}}, 9,
                 "it has another size than what was exported");
  expect_refused({{{{}, 81}}, {}, {std::vector<std::byte>(81)}}, 10,
                 "it has another size than what was exported");
}

TEST(forged_exported_memory, exists_for_each_buffer) {
  expect_refused({}, 10, "its elements were not exported");
}

}  // namespace
}  // namespace starling
