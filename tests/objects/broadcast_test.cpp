// SPDX-License-Identifier: Apache-2.0
// Large broadcasts are forwarded from rank to rank and keep their order among other messages.
#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "broadcast_order.hpp"
#include "cluster.hpp"
#include "core/environment.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::many;
using starling_test::on_clusters;
using starling_test::stay_in_place;

using bytes = std::vector<char>;
constexpr std::size_t large = std::size_t{64} << 10;

class broadcasts : public on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, broadcasts,
                         testing::Values(cluster{1, 2}, cluster{2, 2}, cluster{3, 1}, cluster{4, 2},
                                         cluster{5, 1}, cluster{6, 1}, cluster{7, 1}, cluster{8, 1},
                                         cluster{8, 2}),
                         starling_test::cluster_name);

TEST_P(broadcasts, arrive_in_order_with_all_messages_of_their_sender) {
  all.expect(0, [](runtime& rt) { return broadcast_order::play(rt, many(60, 15)); });
}

TEST_P(broadcasts, arrive_in_order_with_a_small_window) {
  cluster narrow = all;
  narrow.window = 16 << 10;
  narrow.expect(0, [](runtime& rt) { return broadcast_order::play(rt, many(60, 15)); });
}

/// Remembers the first letter of each lesson, "!" if the lesson is incomplete, and "-" for
/// `forget`.
struct pupil : chare<pupil> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_lessons);
  }
  void learn(const bytes& lesson) { m_lessons += lesson == bytes(large, 'a') ? 'a' : '!'; }
  void forget() { m_lessons += '-'; }
  std::string lessons() const { return m_lessons; }

 private:
  std::string m_lessons;
};
struct school : chare<school> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_pupils);
  }
  void found(chare_array<school> all) {
    m_pupils.emplace(create_array<pupil>(*runtime::current(), 20, placement::block));
    all[(this_index() + 1) % all.extent().extent()].invoke<&school::teach>(*m_pupils);
  }
  /// Broadcasts to an array of another rank, of which the remaining ranks may have no record yet.
  void teach(chare_array<pupil> pupils) {
    pupils.invoke<&pupil::learn>(bytes(large, 'a'));
    pupils.invoke<&pupil::forget>();
  }
  task<bool> is_taught() {
    bool result = true;
    for (int i = 0; i < 20; ++i) result &= co_await (*m_pupils)[i].call<&pupil::lessons>() == "a-";
    co_return result;
  }

 private:
  std::optional<chare_array<pupil>> m_pupils;
};

TEST_P(broadcasts, wait_for_arrays_that_are_not_yet_created_on_a_rank) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto schools = create_rank_group<school>(rt);
    schools.invoke<&school::found>(schools);
    co_await quiescence();
    int wrong = 0;
    for (int r = 0; r < rank_count(); ++r) wrong += !co_await schools[r].call<&school::is_taught>();
    co_return wrong;
  });
}

struct reader : chare<reader> {
  reader(read_only<bytes> given, const bytes& own) : m_given(given), m_own(own) {}
  explicit reader(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_given, m_own);
  }
  bool has_read() const { return **m_given == m_own; }
  /// Returns whether the result has the contributions of all elements, in any order.
  task<bool> has_all() {
    bytes given = co_await reduce(bytes(large, char(this_index())), reduction::concatenate());
    std::ranges::sort(given);
    bytes expected;
    for (int i = 0; i < this_array().extent().extent(); ++i)
      expected.insert(expected.end(), large, char(i));
    co_return given == expected;
  }

 private:
  std::optional<read_only<bytes>> m_given;
  bytes m_own;
};

TEST_P(broadcasts, are_also_values_sections_arguments_of_constructors_and_results) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const int count = 5000;
    const auto data = make_read_only(rt, bytes(large, 'x'));
    const auto readers = create_array<reader>(rt, 7, placement::round_robin, data, *data);
    const auto pupils = create_array<pupil>(rt, count, placement::round_robin);
    std::vector<int> odd;
    for (int i = 1; i < count; i += 2) odd.push_back(i);
    make_section(pupils, odd).invoke<&pupil::forget>();
    int wrong = 0;
    std::vector<future<bool>> complete;
    for (int i = 0; i < 7; ++i) {
      wrong += !co_await readers[i].call<&reader::has_read>();
      complete.push_back(readers[i].call<&reader::has_all>());
    }
    for (auto& each : complete) wrong += !co_await std::move(each);
    co_await quiescence();
    for (int i = 0; i < count; i += 97)
      wrong += co_await pupils[i].call<&pupil::lessons>() != (i % 2 != 0 ? "-" : "");
    co_return wrong;
  });
}

struct subject : chare<subject> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_heard);
  }
  void hear(const bytes& speech) { m_heard += speech.size() == large; }
  int heard() const { return m_heard; }
  void object(const bytes&) {
    if (this_index() + 1 == this_array().extent().extent())
      throw std::runtime_error("an objection");
  }
  void end(const bytes&) { exit_run(3); }

 private:
  int m_heard = 0;
};

TEST_P(broadcasts, may_throw_in_their_receivers) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    create_group<subject>(rt).invoke<&subject::object>(bytes(large));
    co_await quiescence();
    co_return 0;
  });
  const std::string text = cluster::text_of(ends.front());
  EXPECT_NE(text.find("object: an objection"), std::string::npos) << text;
}

TEST_P(broadcasts, may_be_in_flight_when_the_run_ends) {
  for (int trial = 0; trial < many(10, 3); ++trial)
    all.expect(3, [](runtime& rt) -> task<int> {
      const auto subjects = create_group<subject>(rt);
      for (int i = 0; i < 10; ++i) {
        subjects.invoke<&subject::hear>(bytes(large));
        if (i == 5) subjects.invoke<&subject::end>(bytes(large));
        subjects.urgent().invoke<&subject::hear>(bytes(large));
      }
      co_await quiescence();
      co_return 3;
    });
}

// --- cost of a broadcast

struct tally {
  std::atomic<int> loads{0};
  std::atomic<std::size_t> bytes{0};
};

TEST_P(broadcasts, leave_their_sender_twice_at_most_whatever_the_number_of_ranks) {
  std::vector<tally> sent(std::size_t(all.ranks));
  const auto body = [](runtime& rt) -> task<int> {
    stay_in_place(rt, "counts messages");
    const auto subjects = create_rank_group<subject>(rt);
    subjects.invoke<&subject::hear>(bytes(large));
    co_await quiescence();
    int heard = 0;
    for (int r = 0; r < rank_count(); ++r) heard += co_await subjects[r].call<&subject::heard>();
    co_return heard;
  };
  const auto ends = all.run(body, [&](std::unique_ptr<transport> t) {
    tally& of = sent[std::size_t(t->rank())];
    return std::make_unique<starling_test::tapped_transport>(
        std::move(t), [](message m) { return m; },
        [&of](const message& m) {
          of.loads += m.size() >= large;
          of.bytes += m.size();
        });
  });
  EXPECT_EQ(ends.front().status, all.ranks) << cluster::text_of(ends.front());
  int loads = 0;
  for (const tally& of : sent) {
    EXPECT_LE(of.loads.load(), 2);
    loads += of.loads.load();
  }
  EXPECT_EQ(loads, all.ranks - 1);
  EXPECT_LT(sent.front().bytes.load(), 3 * large);
}

/// Ranks that do not process their messages, and a sender that keeps sending to them.
struct crowd : chare<crowd> {
  static inline std::atomic<bool> is_let_go{false};
  void hold() const {
    while (!is_let_go.load()) std::this_thread::yield();
  }
  void take(const bytes&) { ++m_taken; }
  int taken() const { return m_taken; }
  int flood() {
    int sent = 0;
    const std::string error = starling_test::message_of<usage_error>([&] {
      for (; sent < 64; ++sent) this_array().invoke<&crowd::take>(bytes(std::size_t{1} << 20));
    });
    EXPECT_NE(error.find("has not worked off 16 MiB of messages"), std::string::npos) << error;
    is_let_go = true;
    return sent;
  }

 private:
  int m_taken = 0;
};

TEST(broadcast, to_ranks_that_do_not_process_it_has_a_limit) {
  const starling_test::variable limit("STARLING_SEND_LIMIT", "16");
  crowd::is_let_go = false;
  cluster{5, 1}.expect(0, [](runtime& rt) -> task<int> {
    const auto all = create_rank_group<crowd>(rt);
    for (int r = 1; r < 5; ++r) all[r].invoke<&crowd::hold>();
    const int sent = co_await all[0].call<&crowd::flood>();
    co_await quiescence();
    int wrong = sent < 16 || sent > 20 ? 100 : 0;  // no rank has received an unsent message
    for (int r = 0; r < 5; ++r) wrong += co_await all[r].call<&crowd::taken>() != sent;
    co_return wrong;
  });
}

}  // namespace
}  // namespace starling
