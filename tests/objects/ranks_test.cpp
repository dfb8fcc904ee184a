// SPDX-License-Identifier: Apache-2.0
// Arrays over the ranks of a job.
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::on_clusters;

class ranks : public on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, ranks, starling_test::cluster_sizes, starling_test::cluster_name);

struct counter : chare<counter> {
  explicit counter(int start) : m_value(start + this_index()) {}
  void add(int n) { m_value += n; }
  int value() const { return m_value; }
  int on() const { return this_rank().number; }
  task<int> value_later() {
    co_await yield();
    co_return m_value;
  }
  void append(const std::string& text) { m_text += text; }
  std::string text() const { return m_text; }
  int refuse() { throw std::invalid_argument("no value"); }
  void fail() { throw std::runtime_error("out of counters"); }
  task<int> sum_with(element<counter> other) {
    co_return m_value + co_await other.call<&counter::value>();
  }
  void tell(callback<int> to) { to.deliver(m_value + 0); }
  awaited number(int step, double value);
  task<double> numbers(int count) {
    double sum = 0;
    for (int step = count; step-- > 0;) sum += co_await when<&counter::number>(step);
    co_return sum;
  }
  task<int> reduced() { co_return co_await reduce(m_value, reduction::sum()); }
  void give(callback<int> to) { contribute(m_value, reduction::sum(), to); }

 private:
  int m_value;
  std::string m_text;
};

TEST_P(ranks, take_messages_in_the_order_sent) {
  all.expect(2 * (1000 + 45 + 45), [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 10, placement::block, 100);
    for (int i = 0; i < 10; ++i) counters[i].invoke<&counter::add>(i);
    int sum = 0;
    for (int i = 0; i < 10; ++i) sum += co_await counters[i].call<&counter::value>();
    for (int i = 0; i < 10; ++i) sum += co_await counters[i].call<&counter::value_later>();
    co_return sum;
  });
}

TEST_P(ranks, share_the_elements) {
  all.expect(0, [&](runtime& rt) -> task<int> {
    const int ranks = rank_count();
    const auto counters = create_array<counter>(rt, 40, placement::block, 0);
    int last = 0, changes = 0;
    for (int i = 0; i < 40; ++i) {
      const int on = co_await counters[i].call<&counter::on>();
      if (on != last) ++changes;
      last = on;
    }
    co_return last == ranks - 1 && changes == ranks - 1 ? 0 : 1;
  });
}

TEST_P(ranks, broadcast_between_messages_in_order) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 12, placement::round_robin, 0);
    std::string expected;
    for (int round = 0; round < 20; ++round) {
      const std::string text = std::to_string(round);
      for (int i = 0; i < 12; ++i) counters[i].invoke<&counter::append>("<" + text);
      counters.invoke<&counter::append>("," + text + ">");
      expected += "<" + text + "," + text + ">";
    }
    int wrong = 0;
    for (int i = 0; i < 12; ++i)
      if (co_await counters[i].call<&counter::text>() != expected) ++wrong;
    co_return wrong;
  });
}

TEST_P(ranks, give_errors_to_their_awaiters) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 10, placement::block, 0);
    int caught = 0;
    for (int i = 0; i < 10; ++i) try {
        static_cast<void>(co_await counters[i].call<&counter::refuse>());
      } catch (const std::invalid_argument&) {
        ++caught;
      }
    co_return caught - 10;
  });
}

TEST_P(ranks, end_the_run_on_all_ranks_with_unawaited_errors) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 10, placement::block, 0);
    counters[9].invoke<&counter::fail>();
    promise<> never;
    co_await never.get_future();
    co_return 0;
  });
  const std::string text =
      starling_test::message_of<entry_error>([&] { std::rethrow_exception(ends.front().error); });
  EXPECT_NE(text.find("counter[9].fail: out of counters"), std::string::npos) << text;
  for (std::size_t r = 1; r < ends.size(); ++r) EXPECT_EQ(ends[r].status, 1);
}

TEST_P(ranks, send_proxies_and_callbacks) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 10, placement::block, 100);
    int wrong = 0;
    for (int i = 0; i < 10; ++i) {
      if (co_await counters[i].call<&counter::sum_with>(counters[9 - i]) != 209) ++wrong;
      auto [to, answer] = make_reply<int>();
      counters[i].invoke<&counter::tell>(to);
      if (co_await std::move(answer) != 100 + i) ++wrong;
    }
    for (int i = 0; i < 10; ++i) {
      counters[i].invoke<&counter::tell>(counters[9 - i].to<&counter::add, int>());
      co_await quiescence();
    }
    for (int i = 0; i < 10; ++i)  // each of the last five returns its value
      if (co_await counters[i].call<&counter::value>() != (i < 5 ? 100 + i + 209 : 209)) ++wrong;
    co_return wrong;
  });
}

TEST_P(ranks, await_messages) {
  all.expect(45, [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 3, placement::block, 0);
    future<double> sum = counters[2].call<&counter::numbers>(10);
    for (int step = 0; step < 10; ++step) counters[2].invoke<&counter::number>(step, double(step));
    co_return int(co_await std::move(sum));
  });
}

TEST_P(ranks, reduce_over_all_elements) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto counters = create_array<counter>(rt, 17, placement::round_robin, 1);
    int wrong = 0;
    for (int round = 0; round < 5; ++round) {
      std::vector<future<int>> sums;
      for (int i = 0; i < 17; ++i) sums.push_back(counters[i].call<&counter::reduced>());
      for (const int sum : co_await when_all(std::move(sums))) wrong += sum != 17 + 17 * 8;
      auto [to, answer] = make_reply<int>();
      counters.invoke<&counter::give>(to);
      wrong += co_await std::move(answer) != 17 + 17 * 8;
    }
    co_return wrong;
  });
}

TEST_P(ranks, reduce_where_few_ranks_have_elements) {
  all.expect(0, [](runtime& rt) -> task<int> {
    int wrong = 0;
    for (int n = 1; n < 4; ++n) {
      const auto counters = create_array<counter>(rt, n, placement::round_robin, 1);
      auto [to, answer] = make_reply<int>();
      counters.invoke<&counter::give>(to);
      wrong += co_await std::move(answer) != n + n * (n - 1) / 2;
    }
    co_return wrong;
  });
}

struct word : chare<word, std::string> {
  explicit word(int n) : m_number(n) {}
  int number() const { return m_number; }
  std::string self() const { return this_index(); }
  void give(callback<int> to) { contribute(m_number, reduction::max(), to); }

 private:
  int m_number;
};

TEST_P(ranks, insert_elements_on_any_rank) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto words = create_sparse_array<word>(rt);
    int wrong = 0;
    std::vector<future<int>> early;
    for (int i = 0; i < 20; ++i)
      early.push_back(words["word " + std::to_string(i)].call<&word::number>());
    for (int i = 0; i < 20; ++i) words.insert("word " + std::to_string(i), i);
    words.done_inserting();
    for (int i = 0; i < 20; ++i) wrong += co_await std::move(early[std::size_t(i)]) != i;
    try {
      static_cast<void>(co_await words["nobody"].call<&word::number>());
      ++wrong;
    } catch (const no_such_element&) {
    }
    wrong += co_await words["word 7"].call<&word::self>() != "word 7";
    co_await quiescence();
    auto [to, answer] = make_reply<int>();
    words.invoke<&word::give>(to);
    wrong += co_await std::move(answer) != 19;
    words["word 3"].destroy();
    try {
      static_cast<void>(co_await words["word 3"].call<&word::number>());
      ++wrong;
    } catch (const no_such_element&) {
    }
    co_return wrong;
  });
}

struct member : chare<member> {
  void join(const section<member>& mine) { m_mine.push_back(mine); }
  task<int> sum() {
    int all = 0;
    for (const auto& s : m_mine) all += co_await reduce(s, this_index(), reduction::sum());
    co_return all;
  }

 private:
  std::vector<section<member>> m_mine;
};

TEST_P(ranks, reduce_over_sections) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto members = create_array<member>(rt, 12, placement::block);
    const auto odd = make_section(members, {1, 3, 5, 7, 9, 11});
    const auto third = make_section(members, {0, 3, 6, 9});
    odd.invoke<&member::join>(odd);
    third.invoke<&member::join>(third);
    co_await quiescence();
    std::vector<future<int>> sums;
    for (int i = 0; i < 12; ++i) sums.push_back(members[i].call<&member::sum>());
    const std::vector<int> expected{18, 36, 0, 54, 0, 36, 18, 36, 0, 54, 0, 36};
    co_return co_await when_all(std::move(sums)) == expected ? 0 : 1;
  });
}

int twice(int n) { return 2 * n; }
task<int> twice_later(int n) {
  co_await yield();
  co_return 2 * n + this_rank().number;
}
void complain(const std::string& what) { throw std::out_of_range(what); }

TEST_P(ranks, run_functions_on_other_ranks) {
  all.expect(0, [](runtime&) -> task<int> {
    int wrong = 0;
    for (int r = 0; r < rank_count(); ++r) {
      wrong += co_await async<&twice>(rank(r), 21) != 42;
      wrong += co_await async<&twice_later>(rank(r), 10) != 20 + r;
      wrong += co_await async(
                   rank(r), [](int a, int b) { return a - b; }, 7, 5) != 2;
      try {
        co_await async<&complain>(rank(r), std::string("too far"));
        ++wrong;
      } catch (const std::out_of_range&) {
      }
    }
    try {
      static_cast<void>(async<&twice>(rank(rank_count()), 1));
      ++wrong;
    } catch (const usage_error&) {
    }
    co_return wrong;
  });
}

struct reader : chare<reader> {
  explicit reader(read_only<std::vector<int>> data) : m_data(data) {}
  int look(std::size_t at) const { return (*m_data)[at]; }

 private:
  read_only<std::vector<int>> m_data;
};

TEST_P(ranks, share_read_only_values) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto data = make_read_only(rt, std::vector<int>{5, 6, 7});
    const auto readers = create_group<reader>(rt, data);
    int wrong = 0;
    for (int i = 0; i < readers.extent().extent(); ++i)
      wrong += co_await readers[i].call<&reader::look>(std::size_t(2)) != 7;
    co_return wrong;
  });
}

TEST_P(ranks, have_groups_of_ranks_and_workers) {
  const int ranks = all.ranks, workers = all.ranks * int(all.workers);
  all.expect(0, [=](runtime& rt) -> task<int> {
    const auto of_ranks = create_rank_group<counter>(rt, 0);
    const auto of_workers = create_group<counter>(rt, 0);
    int wrong = of_ranks.extent().extent() != ranks || of_workers.extent().extent() != workers;
    for (int r = 0; r < ranks; ++r) wrong += co_await of_ranks[r].call<&counter::on>() != r;
    co_return wrong;
  });
}

struct exiter : chare<exiter> {
  void leave(int status) { exit_run(status); }
};

TEST_P(ranks, end_by_exit_run_on_any_rank) {
  all.expect(7, [](runtime& rt) -> task<int> {
    const auto exiters = create_rank_group<exiter>(rt);
    exiters[rank_count() - 1].invoke<&exiter::leave>(7);
    promise<> never;
    co_await never.get_future();
    co_return 0;
  });
}

TEST_P(ranks, diagnose_a_hang_of_all_ranks) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto counters = create_rank_group<counter>(rt, 0);
    co_return int(co_await counters[rank_count() - 1].call<&counter::numbers>(1));
  });
  const std::string text =
      starling_test::message_of<hang_error>([&] { std::rethrow_exception(ends.front().error); });
  EXPECT_NE(text.find("message number(0)"), std::string::npos) << text;
}

struct hopper : chare<hopper> {
  void hop(int more) {
    ++m_visits;
    if (more > 0) this_array()[(this_index() + 7) % 20].invoke<&hopper::hop>(more - 1);
  }
  int visits() const { return m_visits; }

 private:
  int m_visits = 0;
};

TEST_P(ranks, await_quiescence_of_all_ranks) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto hoppers = create_array<hopper>(rt, 20, placement::round_robin);
    int wrong = 0;
    for (int round = 1; round <= 5; ++round) {
      for (int i = 0; i < 20; ++i) hoppers[i].invoke<&hopper::hop>(2 * i);
      co_await quiescence();
      int visits = 0;
      for (int i = 0; i < 20; ++i) visits += co_await hoppers[i].call<&hopper::visits>();
      wrong += visits != round * (20 + 2 * 190);
    }
    co_return wrong;
  });
}

TEST(ranks_of_a_job, refuse_arrays_made_before) {
  starling::loopback_network network(1);
  const auto alone = network.connect(0);
  runtime rt(starling_test::options_with(1));
  static_cast<void>(create_array<counter>(rt, 2, placement::block, 0));
  EXPECT_THROW(static_cast<void>(run(rt, *alone, []() -> task<int> { co_return 0; }())),
               usage_error);
}

struct opaque {
  explicit opaque(int* p) : pointer(p) {}
  int* pointer;
};
struct taker : chare<taker> {
  static constexpr bool one_rank = true;  // untrue: hides opaque from the compiler's check
  void take(opaque o) { ++*o.pointer; }
};

TEST_P(ranks, refuse_arguments_that_cannot_travel) {
  const int ranks = all.ranks;
  all.expect(0, [ranks](runtime& rt) -> task<int> {
    const auto takers = create_rank_group<taker>(rt);
    int n = 0;
    takers[0].invoke<&taker::take>(opaque(&n));
    co_await quiescence();
    if (n != 1) co_return 1;
    if (ranks == 1) co_return 0;
    const std::string text =
        starling_test::message_of<usage_error>([&] { takers[1].invoke<&taker::take>(opaque(&n)); });
    co_return text.find("taker::take") == std::string::npos ||
            text.find("opaque") == std::string::npos
        ? 2
        : 0;
  });
}

}  // namespace
}  // namespace starling
