// SPDX-License-Identifier: Apache-2.0
// Reductions: operations, types of values, targets, several at once, and their errors.
#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::message_of;

class reductions : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, reductions, starling_test::some_ranks, starling_test::ranks_name);

template <class V>
struct giver : chare<giver<V>> {
  explicit giver(V (*value_of)(int)) : m_value(value_of(this->this_index())) {}
  explicit giver(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_value);
  }
  template <class Op>
  void give(const Op& op, const callback<V>& to) {
    this->contribute(m_value, op, to);
  }

 private:
  V m_value{};
};

/// Reduces over the elements 0 … count−1, each of which contributes `value_of(index)`.
template <class V, class Op>
V reduced(starling_test::first_rank& rt, int count, V (*value_of)(int), const Op& op) {
  const auto all = create_array<giver<V>>(rt, count, placement::round_robin,
                                          starling_test::in_process<V(int)>{value_of});
  auto [to, answer] = make_reply<V>();
  all.template invoke<&giver<V>::template give<Op>>(op, to);
  return rt.sync_wait(std::move(answer));
}

TEST_P(reductions, of_integers) {
  const auto signed_index = [](int i) { return i % 2 == 0 ? i : -i; };
  EXPECT_EQ(reduced<int>(rt, 100, signed_index, reduction::sum{}), -50);
  EXPECT_EQ(reduced<int>(rt, 100, signed_index, reduction::min{}), -99);
  EXPECT_EQ(reduced<int>(rt, 100, signed_index, reduction::max{}), 98);
  const auto factor = [](int i) { return std::uint64_t(i + 1); };
  EXPECT_EQ(reduced<std::uint64_t>(rt, 20, factor, reduction::product{}), 2432902008176640000u);
}

TEST_P(reductions, of_floating_point_numbers) {
  const auto eighths = [](int i) { return i / 8.0; };  // their sums are exact in any order
  EXPECT_EQ(reduced<double>(rt, 1000, eighths, reduction::sum{}), 999 * 1000 / 16.0);
  EXPECT_EQ(reduced<double>(rt, 1000, eighths, reduction::max{}), 999 / 8.0);
  const auto powers = [](int i) { return i % 2 == 0 ? 2.0F : 0.5F; };
  EXPECT_EQ(reduced<float>(rt, 64, powers, reduction::product{}), 1.0F);
}

TEST_P(reductions, of_logical_values) {
  const auto yes = [](int) { return true; };
  const auto no = [](int) { return false; };
  const auto one_no = [](int i) { return i != 17; };
  const auto one_yes = [](int i) { return i == 17; };
  EXPECT_TRUE(reduced<bool>(rt, 30, yes, reduction::all{}));
  EXPECT_FALSE(reduced<bool>(rt, 30, one_no, reduction::all{}));
  EXPECT_TRUE(reduced<bool>(rt, 30, one_yes, reduction::any{}));
  EXPECT_FALSE(reduced<bool>(rt, 30, no, reduction::any{}));
}

TEST_P(reductions, of_lists_go_element_by_element) {
  using list = std::vector<int>;
  const auto ramp = [](int i) { return list{i, -i, 1}; };
  EXPECT_EQ(reduced<list>(rt, 50, ramp, reduction::sum{}), (list{1225, -1225, 50}));
  EXPECT_EQ(reduced<list>(rt, 50, ramp, reduction::min{}), (list{0, -49, 1}));
  EXPECT_EQ(reduced<list>(rt, 50, ramp, reduction::max{}), (list{49, 0, 1}));
  using pair = std::array<double, 2>;
  const auto powers = [](int i) { return pair{i % 2 == 0 ? 2.0 : 0.5, 2.0}; };
  EXPECT_EQ(reduced<pair>(rt, 10, powers, reduction::product{}), (pair{1.0, 1024.0}));
  using flags = std::vector<bool>;
  const auto is_here = [](int i) { return flags{true, i == 17, i != 17, false}; };
  EXPECT_EQ(reduced<flags>(rt, 30, is_here, reduction::all{}), (flags{true, false, false, false}));
  EXPECT_EQ(reduced<flags>(rt, 30, is_here, reduction::any{}), (flags{true, true, true, false}));
  using table = std::vector<list>;
  const auto rows = [](int i) { return table{{i}, {1, i}}; };
  EXPECT_EQ(reduced<table>(rt, 10, rows, reduction::sum{}), (table{{45}, {10, 45}}));
}

TEST_P(reductions, of_lists_of_several_lengths_fail) {
  const auto growing = [](int i) { return std::vector<int>(std::size_t(1 + i / 7), i); };
  const std::string text = message_of<usage_error>(
      [&] { static_cast<void>(reduced<std::vector<int>>(rt, 8, growing, reduction::sum{})); });
  EXPECT_NE(text.find("one contribution has 1 elements, another 2") == std::string::npos
                ? text.find("one contribution has 2 elements, another 1")
                : 0,
            std::string::npos)
      << text;
}

TEST_P(reductions, of_strings_and_vectors) {
  const auto name = [](int i) { return std::to_string(100 + i); };
  EXPECT_EQ(reduced<std::string>(rt, 50, name, reduction::max{}), "149");
  EXPECT_EQ(reduced<std::string>(rt, 50, name, reduction::min{}), "100");
  EXPECT_EQ(reduced<std::string>(rt, 50, name, reduction::concatenate{}).size(), 150u);
  const auto some = [](int i) { return std::vector<int>(std::size_t(i % 3), i); };
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) expected.insert(expected.end(), std::size_t(i % 3), i);
  auto all = reduced<std::vector<int>>(rt, 50, some, reduction::concatenate{});
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, expected);
}

struct extreme {
  double value;
  int where;
  friend bool operator==(const extreme&, const extreme&) = default;
};
/// The largest value and the smallest index that has it.
struct most_extreme {
  extreme operator()(const extreme& a, const extreme& b) const {
    if (a.value != b.value) return a.value < b.value ? b : a;
    return a.where < b.where ? a : b;
  }
};
struct sum_modulo {
  int modulus;
  int operator()(int a, int b) const { return (a + b) % modulus; }
};
struct element_wise {
  std::array<int, 64> operator()(std::array<int, 64> a, const std::array<int, 64>& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
};

TEST_P(reductions, by_the_users_operations_over_the_users_types) {
  const auto value = [](int i) { return extreme{double(i % 10), i}; };
  EXPECT_EQ(reduced<extreme>(rt, 95, value, most_extreme{}), (extreme{9.0, 9}));
  const auto index = [](int i) { return i; };
  EXPECT_EQ(reduced<int>(rt, 100, index, sum_modulo{97}), 4950 % 97);
  const auto one_hot = [](int i) {
    std::array<int, 64> a{};
    a[std::size_t(i % 64)] = 1;
    return a;
  };
  const auto counts = reduced<std::array<int, 64>>(rt, 129, one_hot, element_wise{});
  EXPECT_EQ(counts[0], 3);
  EXPECT_EQ(counts[63], 2);
}

using owner = std::unique_ptr<int>;
struct holder : chare<holder> {
  template <class Archive>
  void serialize(Archive&) {}
  void give(callback<owner> to) {
    contribute(
        std::make_unique<int>(this_index()),
        [](owner a, const owner& b) {
          *a += *b;
          return a;
        },
        to);
  }
};

TEST_P(reductions, of_values_that_can_only_be_moved) {
  const auto all = create_array<holder>(rt, 10, placement::round_robin);
  auto [to, answer] = make_reply<owner>();
  all.invoke<&holder::give>(to);
  EXPECT_EQ(*rt.sync_wait(std::move(answer)), 45);
}

TEST_P(reductions, of_one_element_and_of_fewer_than_there_are_workers) {
  const auto seven = [](int) { return 7; };
  EXPECT_EQ(reduced<int>(rt, 1, seven, reduction::sum{}), 7);
  EXPECT_EQ(reduced<int>(rt, 2, seven, reduction::sum{}), 14);
  EXPECT_EQ(reduced<int>(rt, 3, seven, reduction::min{}), 7);
}

struct worker_of_rounds : chare<worker_of_rounds> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_passed);
  }
  /// Contributes to all of them at once, without waiting for the results.
  void give(const std::vector<callback<int>>& to) {
    for (std::size_t r = 0; r < to.size(); ++r)
      contribute(int(r) * this_index(), reduction::sum{}, to[r]);
  }
  void give_mixed(callback<int> a, callback<double> b, callback<std::string> c) {
    contribute(this_index(), reduction::max{}, a);
    contribute(this_index() / 2.0, reduction::sum{}, b);
    contribute(std::string(1, char('a' + this_index())), reduction::max{}, c);
  }
  task<> stop_at(int barriers) {
    for (m_passed = 0; m_passed < barriers; ++m_passed) co_await barrier();
  }
  int passed() const { return m_passed; }
  task<bool> nobody_is_behind(int barriers) {
    bool ok = true;
    const int next = (this_index() + 1) % this_array().extent().extent();
    for (m_passed = 0; m_passed < barriers;) {
      ++m_passed;
      co_await barrier();
      const int theirs = co_await this_array()[next].call<&worker_of_rounds::passed>();
      ok = ok && theirs >= m_passed && theirs <= m_passed + 1;
    }
    co_return ok;
  }

 private:
  int m_passed = 0;
};

TEST_P(reductions, are_distinguished_when_many_are_in_flight) {
  const auto all = create_array<worker_of_rounds>(rt, 25, placement::round_robin);
  rt.sync_wait([](chare_array<worker_of_rounds> a, int rounds) -> task<> {
    std::vector<callback<int>> to;
    std::vector<future<int>> sums;
    for (int r = 0; r < rounds; ++r) {
      auto [target, sum] = make_reply<int>();
      to.push_back(target);
      sums.push_back(std::move(sum));
    }
    a.invoke<&worker_of_rounds::give>(to);
    for (int r = rounds; r-- > 0;) EXPECT_EQ(co_await std::move(sums[std::size_t(r)]), r * 300);
  }(all, many(200, 30)));
}

TEST_P(reductions, of_different_kinds_may_follow_each_other) {
  const auto all = create_array<worker_of_rounds>(rt, 25, placement::block);
  rt.sync_wait([](chare_array<worker_of_rounds> a) -> task<> {
    for (int i = 0; i < 20; ++i) {
      auto [to_int, most] = make_reply<int>();
      auto [to_double, sum] = make_reply<double>();
      auto [to_text, last] = make_reply<std::string>();
      a.invoke<&worker_of_rounds::give_mixed>(to_int, to_double, to_text);
      EXPECT_EQ(co_await std::move(last), "y");
      EXPECT_EQ(co_await std::move(sum), 150.0);
      EXPECT_EQ(co_await std::move(most), 24);
    }
  }(all));
}

/// Never leaves its rank, as its futures cannot.
struct two_at_once : chare<two_at_once> {
  /// Either of two coroutines may reach a reduction first, so both contribute the same value.
  task<int> rounds(int count) {
    int sum = 0;
    for (int r = 0; r < count; ++r) sum += co_await reduce(1, reduction::sum{});
    co_return sum;
  }
  void begin(int count) {
    m_first = spawn(rounds(count));
    m_second = spawn(rounds(count));
  }
  task<int> both() { co_return co_await std::move(m_first) + co_await std::move(m_second); }

 private:
  future<int> m_first;
  future<int> m_second;
};

TEST_P(reductions, may_be_awaited_by_several_coroutines_of_each_chare) {
  const auto all = create_array<two_at_once>(rt, 12, placement::round_robin);
  rt.sync_wait([](chare_array<two_at_once> a, int rounds) -> task<> {
    a.invoke<&two_at_once::begin>(rounds);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(co_await a[i].call<&two_at_once::both>(), 2 * 12 * rounds);
  }(all, many(50, 10)));
}

TEST_P(reductions, act_as_barriers_many_times) {
  const auto all = create_array<worker_of_rounds>(rt, 30, placement::round_robin);
  const int barriers = many(300, 20);
  rt.sync_wait([](chare_array<worker_of_rounds> a, int barriers) -> task<> {
    std::vector<future<bool>> ok;
    for (int i = 0; i < 30; ++i)
      ok.push_back(a[i].call<&worker_of_rounds::nobody_is_behind>(barriers));
    for (auto& each : ok) EXPECT_TRUE(co_await std::move(each));
  }(all, barriers));
}

TEST_P(reductions, hold_a_barrier_until_the_last_contribution) {
  const auto all = create_array<worker_of_rounds>(rt, 5, placement::round_robin);
  rt.sync_wait([](chare_array<worker_of_rounds> a) -> task<> {
    for (int i = 0; i < 4; ++i) a[i].invoke<&worker_of_rounds::stop_at>(1);
    co_await quiescence();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(co_await a[i].call<&worker_of_rounds::passed>(), 0);
    co_await a[4].call<&worker_of_rounds::stop_at>(1);
    co_await quiescence();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(co_await a[i].call<&worker_of_rounds::passed>(), 1);
  }(all));
}

/// Waits in tasks that its entry methods await: many of them end at once.
struct divided : chare<divided> {
  template <class Archive>
  void serialize(Archive&) {}
  awaited go(int round);
  task<> start(int round) { co_await when<&divided::go>(round); }
  task<int> agree() { co_return co_await reduce(1, reduction::sum{}); }
  task<int> rounds(int count) {
    int sum = 0;
    for (int r = 0; r < count; ++r) {
      co_await start(r);
      sum += co_await agree();
    }
    co_return sum;
  }
};

TEST_P(reductions, and_broadcasts_resume_tasks_of_many_elements) {
  const auto all = create_array<divided>(rt, 400, placement::block);
  const int rounds = many(10, 3);
  rt.sync_wait([](chare_array<divided> a, int rounds) -> task<> {
    std::vector<future<int>> sums;
    for (int i = 0; i < 400; ++i) sums.push_back(a[i].call<&divided::rounds>(rounds));
    for (int r = 0; r < rounds; ++r) a.invoke<&divided::go>(r);
    for (auto& each : sums) EXPECT_EQ(co_await std::move(each), 400 * rounds);
  }(all, rounds));
}

/// Contributes in its constructor, before all other elements exist. Never leaves its rank, as its
/// future cannot.
struct early_giver : chare<early_giver> {
  explicit early_giver(const callback<int>& to) {
    contribute(this_index(), reduction::sum{}, to);
    m_next = spawn(later());
  }
  task<int> later() { co_return co_await reduce(1, reduction::sum{}); }
  task<int> next() { co_return co_await std::move(m_next); }

 private:
  future<int> m_next;
};

TEST_P(reductions, may_begin_in_constructors) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    auto [to, sum] = make_reply<int>();
    const auto all = create_array<early_giver>(rt, 20, placement::block, to);
    EXPECT_EQ(rt.sync_wait(std::move(sum)), 190);
    EXPECT_EQ(rt.sync_wait(all[7].call<&early_giver::next>()), 20);
  }
}

}  // namespace
}  // namespace starling
