// SPDX-License-Identifier: Apache-2.0
// Quiescence and elements that are under way between ranks: it does not come before the element,
// its mailbox and the messages to it have arrived, however slow their connection is.
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "on_ranks.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::in_process;

detail::remote_header header_of(const message& m) {
  detail::remote_header h{};
  if (m.size() >= sizeof h) std::memcpy(&h, m.data(), sizeof h);
  return h;
}

/// The connection from rank 2 to rank 1, on which the messages about quiescence do not travel. It
/// holds back everything behind a message of one kind, until quiescence could have been found
/// several times.
class slow_connection {
 public:
  /// Holds back the next message of the kind, and all messages behind it.
  template <class Handler>
  void hold_back() {
    const std::lock_guard lock(m_mutex);
    m_first = detail::number_of_call<Handler>;
    m_state = state::waits;
    m_waves = 0;
  }
  [[nodiscard]] bool holds() {
    const std::lock_guard lock(m_mutex);
    return m_state == state::holds;
  }
  /// Returns the waves that rank 0 has sent while messages were held back.
  [[nodiscard]] int waves() {
    const std::lock_guard lock(m_mutex);
    return m_waves;
  }
  void release() {
    const std::lock_guard lock(m_mutex);
    send_all();
  }
  [[nodiscard]] std::unique_ptr<transport> tap(std::unique_ptr<transport> t) {
    return std::make_unique<end>(std::move(t), *this);
  }

  static constexpr int enough_waves = 8;  // two would show quiescence

 private:
  enum class state { idle, waits, holds };

  /// A rank's end of its connections.
  class end final : public starling_test::tapped_transport {
   public:
    end(std::unique_ptr<transport> inner, slow_connection& of)
        : tapped_transport(std::move(inner), [](message m) { return m; }), m_of(of) {}
    void send(int to, unsigned number, message m) override {
      if (rank() == 2 && to == 1) return m_of.pass(*this, number, std::move(m));
      if (rank() == 0 && to == 1 && is_wave(m)) m_of.count_wave();
      tapped_transport::send(to, number, std::move(m));
    }
    void send_now(unsigned number, message m) { tapped_transport::send(1, number, std::move(m)); }

   private:
    slow_connection& m_of;
  };

  /// A wave of the detector of quiescence has two numbers.
  static bool is_wave(const message& m) {
    return header_of(m).is_counted == 0 &&
           m.size() == sizeof(detail::remote_header) + 2 * sizeof(std::uint64_t);
  }
  void pass(end& from, unsigned number, message m) {
    const std::lock_guard lock(m_mutex);
    if (m_state == state::waits && header_of(m).function == m_first) m_state = state::holds;
    if (m_state != state::holds) return from.send_now(number, std::move(m));
    m_end = &from;
    m_held.emplace_back(number, std::move(m));
  }
  void count_wave() {
    const std::lock_guard lock(m_mutex);
    if (m_state == state::holds && ++m_waves == enough_waves) send_all();
  }
  void send_all() {
    m_state = state::idle;
    for (auto& [number, m] : std::exchange(m_held, {})) m_end->send_now(number, std::move(m));
  }

  std::mutex m_mutex;
  state m_state = state::idle;
  std::uint32_t m_first = 0;
  int m_waves = 0;
  end* m_end = nullptr;
  std::vector<std::pair<unsigned, message>> m_held;
};

/// The numbers of the messages that an element has processed.
class diary {
 public:
  void write(int n) {
    const std::lock_guard lock(m_mutex);
    m_numbers.push_back(n);
  }
  [[nodiscard]] std::vector<int> numbers() {
    const std::lock_guard lock(m_mutex);
    return m_numbers;
  }

 private:
  std::mutex m_mutex;
  std::vector<int> m_numbers;
};

struct traveller : chare<traveller> {
  explicit traveller(in_process<diary> d) : m_diary(d) {}
  explicit traveller(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_diary);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  void take(int n) { m_diary.it->write(n); }
  awaited letter(int n);
  task<> read(int letters) {
    for (int i = 0; i < letters; ++i) m_diary.it->write(co_await when<&traveller::letter>());
  }
  int rank() const { return this_rank().number; }

 private:
  in_process<diary> m_diary{};
};

std::vector<int> numbers_up_to(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// A run of three ranks with one traveller that has its home on each of them.
class quiescence_behind_a_slow_connection : public starling_test::on_clusters {
 public:
  using task_of_test = task<> (*)(quiescence_behind_a_slow_connection&, chare_array<traveller>);

  /// Runs a task on rank 0.
  void run(task_of_test body) {
    const auto ends =
        all.run([this, body](runtime& rt) { return lead(rt, body); },
                [this](std::unique_ptr<transport> t) { return slow.tap(std::move(t)); });
    for (const auto& end : ends) EXPECT_EQ(end.status, 0) << cluster::text_of(end);
  }
  /// Waits for quiescence, which must come behind the messages that are held back.
  task<> expect_late_quiescence() {
    co_await quiescence();
    EXPECT_FALSE(slow.holds()) << "quiescence has come while messages were under way";
    EXPECT_EQ(slow.waves(), slow.enough_waves) << "nothing was held back";
    slow.release();
  }
  [[nodiscard]] int first_worker(int rank) const { return rank * int(all.workers); }

  slow_connection slow;
  diary written;

 private:
  task<int> lead(runtime& rt, task_of_test body) {
    starling_test::stay_in_place(rt, "the elements must leave rank 2 when the test says so");
    const auto made = create_array<traveller>(rt, 3, placement::block, in_process<diary>{&written});
    co_await quiescence();
    co_await body(*this, made);
    co_return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(on, quiescence_behind_a_slow_connection,
                         testing::Values(cluster{3, 1}, cluster{3, 2}),
                         starling_test::cluster_name);
using fixture = quiescence_behind_a_slow_connection;

TEST_P(quiescence_behind_a_slow_connection, comes_after_an_element_that_is_under_way) {
  run([](fixture& f, chare_array<traveller> made) -> task<> {
    const auto e = made[2];
    f.slow.hold_back<detail::remote_element<traveller>>();
    for (int n = 0; n < 5; ++n) e.invoke<&traveller::take>(n);
    e.invoke<&traveller::go>(f.first_worker(1));
    for (int n = 5; n < 10; ++n) e.invoke<&traveller::take>(n);
    co_await f.expect_late_quiescence();
    EXPECT_EQ(f.written.numbers(), numbers_up_to(10));
    EXPECT_EQ(co_await e.call<&traveller::rank>(), 1);
  });
}

TEST_P(quiescence_behind_a_slow_connection, comes_after_messages_that_are_forwarded) {
  run([](fixture& f, chare_array<traveller> made) -> task<> {
    const auto e = made[2];
    e.invoke<&traveller::go>(f.first_worker(1));
    co_await quiescence();
    f.slow.hold_back<detail::remote_tracked<traveller>>();
    for (int n = 0; n < 10; ++n) e.invoke<&traveller::take>(n);
    co_await f.expect_late_quiescence();
    EXPECT_EQ(f.written.numbers(), numbers_up_to(10));
  });
}

TEST_P(quiescence_behind_a_slow_connection, comes_after_a_mailbox_that_is_under_way) {
  run([](fixture& f, chare_array<traveller> made) -> task<> {
    const auto e = made[2];
    for (int n = 0; n < 5; ++n) e.invoke<&traveller::letter>(n);
    co_await quiescence();
    f.slow.hold_back<detail::remote_element<traveller>>();
    e.invoke<&traveller::go>(f.first_worker(1));
    for (int n = 5; n < 10; ++n) e.invoke<&traveller::letter>(n);
    e.invoke<&traveller::read>(10);
    co_await f.expect_late_quiescence();
    EXPECT_EQ(f.written.numbers(), numbers_up_to(10));
    EXPECT_EQ(co_await e.call<&traveller::rank>(), 1);
  });
}

TEST_P(quiescence_behind_a_slow_connection, comes_after_the_news_that_an_element_is_destroyed) {
  run([](fixture& f, chare_array<traveller> made) -> task<> {
    const auto e = made[1];
    e.invoke<&traveller::go>(f.first_worker(2));
    co_await quiescence();
    f.slow.hold_back<detail::remote_state<traveller>>();
    for (int n = 0; n < 10; ++n) e.invoke<&traveller::take>(n);
    e.destroy();
    co_await f.expect_late_quiescence();
    EXPECT_EQ(f.written.numbers(), numbers_up_to(10));
    EXPECT_THROW(static_cast<void>(co_await e.call<&traveller::rank>()), no_such_element);
  });
}

/// Shows that the other tests of this file can fail: hints are not counted.
TEST_P(quiescence_behind_a_slow_connection, comes_before_hints_which_change_nothing) {
  run([](fixture& f, chare_array<traveller> made) -> task<> {
    const auto e = made[1];
    f.slow.hold_back<detail::remote_hint<traveller>>();
    e.invoke<&traveller::go>(f.first_worker(2));
    co_await quiescence();
    EXPECT_TRUE(f.slow.holds());
    EXPECT_LT(f.slow.waves(), f.slow.enough_waves);
    f.slow.release();
    EXPECT_EQ(co_await e.call<&traveller::rank>(), 2);
  });
}

}  // namespace
}  // namespace starling
