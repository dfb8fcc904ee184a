// SPDX-License-Identifier: Apache-2.0
// Indices of elements that have migrated and were destroyed, inserted again. Each message has a
// number of its own, and is checked by it.
#include <cstdint>
#include <map>
#include <mutex>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using detail::worker;
using starling_test::cluster;
using starling_test::many;
using starling_test::message_of;
using starling_test::over_ucx;

/// A message that an element has processed.
struct record {
  int generation;  // of the element
  int number;
  bool operator==(const record&) const = default;
};
std::ostream& operator<<(std::ostream& out, const record& r) {
  return out << r.number << " by generation " << r.generation;
}

/// The records of all ranks, which are threads of this process, by index and sender.
class records {
 public:
  void add(std::uint64_t index, int sender, record r) {
    const std::lock_guard lock(m_mutex);
    m_of[{index, sender}].push_back(r);
  }
  [[nodiscard]] std::vector<record> take(std::uint64_t index, int sender) {
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_of[{index, sender}], {});
  }

 private:
  std::mutex m_mutex;
  std::map<std::pair<std::uint64_t, int>, std::vector<record>> m_of;
} s_records;

/// Migrates after every few messages.
struct tenant : chare<tenant, std::uint64_t> {
  tenant(int generation, int every, int workers)
      : m_generation(generation), m_every(every), m_workers(workers) {}
  explicit tenant(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_generation, m_every, m_workers, m_steps);
  }

  int take(int sender, int number) {
    s_records.add(this_index(), sender, {m_generation, number});
    if (m_every != 0 && ++m_steps % m_every == 0)
      go((m_steps * 7 + int(this_index()) * 3) % m_workers);
    return m_generation;
  }
  task<int> take_later(int sender, int number) {
    const int generation = take(sender, number);
    co_await yield();
    co_return generation;
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
  void vote(callback<int> to) { contribute(m_generation, reduction::sum(), to); }
  task<int> agree() { co_return co_await reduce(m_generation, reduction::max()); }
  awaited letter(int n);
  task<int> read() { co_return co_await when<&tenant::letter>(); }

 private:
  int m_generation = 0;
  int m_every = 0;
  int m_workers = 1;
  int m_steps = 0;
};
using tenants = chare_array<tenant>;

class indices_used_again : public starling_test::on_ranks {
 protected:
  [[nodiscard]] int workers() { return int(total_worker_count(rt)); }
  /// Messages are ordered by sending thread: a stealable task could overtake its own messages.
  template <class T>
  T wait_for(task<T> t) {
    return rt.sync_wait(rt.on_worker(0).spawn(std::move(t)));
  }
};
INSTANTIATE_TEST_SUITE_P(on, indices_used_again,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4}, cluster{2, 1},
                                         cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1})),
                         starling_test::ranks_name);

TEST_P(indices_used_again, each_message_reaches_the_element_for_which_it_was_sent) {
  const auto all = create_sparse_array<tenant>(rt);
  wait_for([](tenants a, int workers, int rounds) -> task<> {
    constexpr int messages = 6;
    std::vector<future<int>> answers;
    for (int g = 0; g < rounds; ++g) {
      a.insert(5, g, 0, workers);
      for (int n = 0; n < messages; ++n) {
        if (n % 3 == 1) a[5].invoke<&tenant::go>((g + n) % workers);
        if ((g + n) % 2 == 0)
          a[5].invoke<&tenant::take>(0, g * messages + n);
        else
          answers.push_back(a[5].call<&tenant::take_later>(0, g * messages + n));
        if (g % 4 == 3) co_await yield();
      }
      if (g % 8 == 7) co_await quiescence();
      a[5].destroy();
    }
    for (auto& each : answers) static_cast<void>(co_await std::move(each));
    co_await quiescence();
    std::vector<record> expected;
    for (int n = 0; n < rounds * messages; ++n) expected.push_back({n / messages, n});
    EXPECT_EQ(s_records.take(5, 0), expected);
  }(all, workers(), many(60, 20)));
}

TEST_P(indices_used_again, messages_wait_for_the_next_element) {
  const auto all = create_sparse_array<tenant>(rt);
  wait_for([](tenants a, int workers) -> task<> {
    for (int to = 0; to < workers; ++to) {
      a.insert(5, 1, 0, workers);
      a[5].invoke<&tenant::go>(to);
      EXPECT_EQ(co_await a[5].call<&tenant::take>(0, 0), 1);
      a[5].destroy();
      auto early = a[5].call<&tenant::take>(0, 1);
      auto letter = a[5].call<&tenant::read>();
      a[5].invoke<&tenant::letter>(7);
      a[5].destroy();            // the next one, after these messages
      a.invoke<&tenant::go>(0);  // no element receives the broadcast
      co_await quiescence();
      EXPECT_FALSE(early.is_ready());
      a.insert(5, 2, 0, workers);
      EXPECT_EQ(co_await std::move(early), 2);
      EXPECT_EQ(co_await std::move(letter), 7);
      co_await quiescence();
      EXPECT_EQ(s_records.take(5, 0), (std::vector<record>{{1, 0}, {2, 1}}));
    }
  }(all, workers()));
}

TEST_P(indices_used_again, waiting_messages_are_errors_at_the_end_of_insertions) {
  const auto all = create_sparse_array<tenant>(rt);
  wait_for([](tenants a, int workers) -> task<> {
    a.insert(5, 1, 0, workers);
    for (const int to : {workers - 1, 0}) a[5].invoke<&tenant::go>(to);
    EXPECT_EQ(co_await a[5].call<&tenant::take>(0, 0), 1);
    a[5].destroy();
    auto early = a[5].call<&tenant::take>(0, 1);
    co_await quiescence();
    EXPECT_FALSE(early.is_ready());
    a.done_inserting();
    bool is_missing = false;
    try {
      static_cast<void>(co_await std::move(early));
    } catch (const no_such_element&) {
      is_missing = true;
    }
    EXPECT_TRUE(is_missing);
  }(all, workers()));
  static_cast<void>(s_records.take(5, 0));
}

/// Calls `f` within the run and never returns.
template <class F>
task<> in_vain(F f) {
  promise<> never;
  f();
  co_await never.get_future();
}

TEST_P(indices_used_again, an_insertion_before_the_destruction_is_an_error) {
  const auto all = create_sparse_array<tenant>(rt);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([all, workers = workers()] {
      all.insert(5, 1, 0, workers);
      for (int to = workers; to-- > 0;) all[5].invoke<&tenant::go>(to);
      all.insert(5, 2, 0, workers);
      all[5].destroy();
    }));
  });
  EXPECT_NE(text.find("tenant[5].constructor: insert: the element exists"), std::string::npos)
      << text;
}

/// An element whose second constructor call throws.
struct once : chare<once, std::uint64_t> {
  once() = default;
  explicit once(int generation) {
    if (generation > 1) throw std::runtime_error("only once");
  }
  template <class Archive>
  void serialize(Archive&) {}
  void go(int to) { migrate_to(std::size_t(to)); }
};

TEST_P(indices_used_again, an_exception_of_the_constructor_ends_the_run) {
  const auto all = create_sparse_array<once>(rt);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([all, workers = workers()] {
      all.insert(5, 1);
      for (const int to : {workers - 1, 0}) all[5].invoke<&once::go>(to);
      all[5].destroy();
      all.insert(5, 2);
      all[5].invoke<&once::go>(0);
    }));
  });
  EXPECT_NE(text.find("once[5].constructor: only once"), std::string::npos) << text;
}

constexpr int sublets = 5;
constexpr int voices = 6;
constexpr int letters = 9;  // of a voice to each tenant of a generation
/// Sends messages to all tenants and expects answers of one generation.
struct voice : chare<voice> {
  task<std::string> speak(tenants to, int generation, int first) {
    std::vector<future<int>> answers;
    for (int n = first; n < first + letters; ++n)
      for (std::uint64_t i = 0; i < sublets; ++i) {
        const std::uint64_t at = (i + std::uint64_t(this_index())) % sublets;
        if ((n + this_index()) % 2 == 0)
          answers.push_back(to[at].call<&tenant::take>(this_index(), n));
        else
          answers.push_back(to[at].call<&tenant::take_later>(this_index(), n));
        if ((n + int(i)) % 7 == 6) co_await yield();
      }
    std::string errors;
    for (auto& each : answers)
      if (const int of = co_await std::move(each); of != generation)
        errors += "an answer of generation " + std::to_string(of) + "; ";
    co_return errors;
  }
};

TEST_P(indices_used_again, many_senders_reach_each_generation_in_order) {
  const int rounds = many(12, 5);
  const auto all = create_sparse_array<tenant>(rt);
  const auto from = create_array<voice>(rt, voices, placement::round_robin);
  wait_for([](tenants a, chare_array<voice> from, int workers, int rounds) -> task<> {
    for (int g = 0; g < rounds; ++g) {
      for (std::uint64_t i = 0; i < sublets; ++i) a.insert(i, g, g % 3 + 1, workers);
      // Another worker's message could precede the insertion, which goes by way of the home.
      for (std::uint64_t i = 0; i < sublets; ++i)
        EXPECT_NE(co_await a[i].call<&tenant::place>(), -1);
      std::vector<future<std::string>> ends;
      for (int v = 0; v < voices; ++v)
        ends.push_back(from[v].call<&voice::speak>(a, g, g * letters));
      for (const std::string& errors : co_await when_all(std::move(ends))) EXPECT_EQ(errors, "");
      for (std::uint64_t i = 0; i < sublets; ++i) a[i].destroy();
    }
    co_await quiescence();
    std::vector<record> expected;
    for (int n = 0; n < rounds * letters; ++n) expected.push_back({n / letters, n});
    for (std::uint64_t i = 0; i < sublets; ++i)
      for (int v = 0; v < voices; ++v) EXPECT_EQ(s_records.take(i, v), expected) << i << ' ' << v;
  }(all, from, workers(), rounds));
}

TEST_P(indices_used_again, reductions_count_each_generation_once) {
  const auto all = create_sparse_array<tenant>(rt);
  wait_for([](tenants a, int workers, int ranks, int rounds) -> task<> {
    std::vector<future<int>> sums;
    std::vector<int> expected;
    const auto vote = [&] {
      auto [to, sum] = make_reply<int>();
      a.invoke<&tenant::vote>(to);
      sums.push_back(std::move(sum));
    };
    for (std::uint64_t i = 0; i < sublets; ++i) a.insert(i, 1, 0, workers);
    co_await quiescence();  // they are inserted, on the remaining ranks too
    std::vector<int> generation(sublets, 1);
    for (int g = 2; g < rounds + 2; ++g) {
      a.invoke<&tenant::go>(g % workers);
      if (g % 3 == 0) co_await quiescence();
      vote();
      expected.push_back(std::accumulate(generation.begin(), generation.end(), 0));
      // The contributions of the earlier element may still be on their way to its home.
      const std::uint64_t changed = std::uint64_t(g) % sublets;
      a[changed].destroy();
      a.insert(changed, g, 0, workers);
      generation[changed] = g;
      if (ranks > 1) co_await quiescence();  // the insertion has arrived on the other rank
      vote();
      expected.push_back(std::accumulate(generation.begin(), generation.end(), 0));
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(co_await std::move(sums[i]), expected[i]) << i;
  }(all, workers(), GetParam().ranks, many(20, 8)));
}

/// So a later message, which may go past the home, does not overtake it.
TEST(indices_used_again, an_insertion_is_numbered_among_the_messages_of_its_sender) {
  runtime rt(starling_test::options_with(3));
  const auto all = create_sparse_array<tenant>(rt);
  const auto numbers = [](tenants a) -> task<> {
    const auto sent = [&a] {
      return a.state().entry(worker::current()->index(), 5).sent[std::size_t(priority::normal)];
    };
    a.insert(5, 1, 0, 3);
    for (const int to : {0, 1, 2, 0}) a[5].invoke<&tenant::go>(to);
    co_await quiescence();
    a[5].destroy();
    const std::uint64_t before = sent();
    a.insert(5, 2, 0, 3);
    EXPECT_EQ(sent(), before + 1);
    EXPECT_EQ(co_await a[5].call<&tenant::take>(0, 0), 2);
    EXPECT_EQ(s_records.take(5, 0), (std::vector<record>{{2, 0}}));
  };
  rt.sync_wait(rt.on_worker(0).spawn(numbers(all)));
}

TEST_P(indices_used_again, waits_of_the_earlier_element_end_with_it) {
  if (workers() == 1) return;  // the element does not migrate: it remains until its waits end
  const auto all = create_sparse_array<tenant>(rt);
  wait_for([](tenants a, int workers) -> task<> {
    for (std::uint64_t i = 0; i < 2; ++i) a.insert(i, 1, 0, workers);
    for (const int to : {workers - 1, 0, workers / 2}) a[0].invoke<&tenant::go>(to);
    co_await quiescence();
    auto waits = a[0].call<&tenant::agree>();
    co_await quiescence();
    a[0].destroy();
    a.insert(0, 9, 0, workers);
    auto [to, sum] = make_reply<int>();
    bool is_cancelled = false;
    try {
      static_cast<void>(co_await std::move(waits));
    } catch (const operation_cancelled&) {
      is_cancelled = true;
    }
    EXPECT_TRUE(is_cancelled);
    EXPECT_EQ(co_await a[1].call<&tenant::agree>(), 1) << "with the earlier element's contribution";
    co_await quiescence();
    a.invoke<&tenant::vote>(to);
    EXPECT_EQ(co_await std::move(sum), 10);
  }(all, workers()));
}

}  // namespace
}  // namespace starling
