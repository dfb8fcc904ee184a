// SPDX-License-Identifier: Apache-2.0
// Insertion and deletion of elements: messages before, meanwhile and afterwards.
#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::many;
using starling_test::message_of;

class insertion_and_deletion : public starling_test::on_ranks {
 protected:
  /// Messages are ordered by sending thread: a stealable task could overtake its own messages.
  template <class T>
  T wait_for(task<T> t) {
    return rt.sync_wait(rt.on_worker(0).spawn(std::move(t)));
  }
};
INSTANTIATE_TEST_SUITE_P(on, insertion_and_deletion, starling_test::some_ranks,
                         starling_test::ranks_name);

/// Calls `f` within the run and never returns.
template <class F>
task<> in_vain(F f) {
  promise<> never;
  f();
  co_await never.get_future();
}

struct lodger : chare<lodger> {
  explicit lodger(int value = 0) : m_value(value) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_value);
  }
  void add(int n) { m_value += n; }
  int value() const { return m_value; }
  task<int> value_later() {
    co_await yield();
    co_return m_value;
  }
  awaited letter(int number);
  task<int> sum_letters(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await when<&lodger::letter>();
    co_return sum;
  }
  void move_out() { this_element().destroy(); }

 private:
  int m_value;
};

TEST_P(insertion_and_deletion, destroy_by_an_urgent_proxy_follows_all_messages_sent_before) {
  const auto house = create_array<lodger>(rt, 1, placement::block, 5);
  EXPECT_EQ(wait_for([](chare_array<lodger> a) -> task<int> {
              future<int> value = a[0].call<&lodger::value>();
              a[0].urgent().destroy();
              co_return co_await std::move(value);
            }(house)),
            5);
}

TEST_P(insertion_and_deletion, messages_of_every_kind_wait_for_their_element) {
  const auto house = create_empty_array<lodger>(rt, 10, placement::round_robin);
  wait_for([](chare_array<lodger> a) -> task<> {
    std::vector<future<int>> values;
    for (int i = 0; i < 10; ++i) {
      a[i].invoke<&lodger::add>(i);
      values.push_back(a[i].call<&lodger::value>());
      values.push_back(a[i].call<&lodger::value_later>());
      a[i].invoke<&lodger::letter>(i);
      values.push_back(a[i].call<&lodger::sum_letters>(1));
    }
    co_await quiescence();
    for (const auto& each : values) EXPECT_FALSE(each.is_ready());
    for (int i = 10; i-- > 0;) a.insert(i, 100);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(co_await std::move(values[3 * std::size_t(i)]), 100 + i);
      EXPECT_EQ(co_await std::move(values[3 * std::size_t(i) + 1]), 100 + i);
      EXPECT_EQ(co_await std::move(values[3 * std::size_t(i) + 2]), i);
    }
  }(house));
}

TEST_P(insertion_and_deletion, messages_to_missing_elements_are_errors_at_the_end_of_insertions) {
  const auto house = create_empty_array<lodger>(rt, 10, placement::round_robin);
  wait_for([](chare_array<lodger> a) -> task<> {
    auto value = a[3].call<&lodger::value>();
    auto later = a[3].call<&lodger::value_later>();
    co_await quiescence();
    a.done_inserting();
    int errors = 0;
    try {
      co_await std::move(value);
    } catch (const no_such_element&) {
      ++errors;
    }
    try {
      co_await std::move(later);
    } catch (const no_such_element&) {
      ++errors;
    }
    EXPECT_EQ(errors, 2);
  }(house));
  const std::string text = message_of<entry_error>(
      [&] { rt.sync_wait(in_vain([house] { house[7].invoke<&lodger::add>(1); })); });
  EXPECT_NE(text.find("lodger[7].add"), std::string::npos) << text;
}

TEST_P(insertion_and_deletion, a_second_element_of_the_same_index_is_refused) {
  const auto house = create_empty_array<lodger>(rt, 10, placement::round_robin);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([house] {
      house.insert(2, 5);
      house.insert(2, 6);
    }));
  });
  EXPECT_NE(text.find("lodger[2].constructor: insert: the element exists"), std::string::npos)
      << text;
}

TEST_P(insertion_and_deletion, insertion_into_a_complete_array_is_refused) {
  const auto house = create_array<lodger>(rt, 10, placement::round_robin, 1);
  house[2].destroy();
  const std::string text =
      message_of<entry_error>([&] { rt.sync_wait(in_vain([house] { house.insert(2, 5); })); });
  EXPECT_NE(text.find("takes no more elements"), std::string::npos) << text;
}

TEST_P(insertion_and_deletion, indices_outside_the_shape_are_refused_at_once) {
  const auto house = create_array<lodger>(rt, 10, placement::round_robin, 1);
  EXPECT_THROW(static_cast<void>(house[10]), usage_error);
  EXPECT_THROW(static_cast<void>(house[-1]), usage_error);
  const auto empty = create_empty_array<lodger>(rt, 3, placement::block);
  EXPECT_THROW(empty.insert(3, 1), usage_error);
  const std::string text = message_of<usage_error>([&] { static_cast<void>(house[10]); });
  EXPECT_EQ(text, "array lodger has no element 10: its shape is 10");
}

TEST_P(insertion_and_deletion, an_index_may_be_used_again_and_again) {
  const auto house = create_empty_array<lodger>(rt, 4, placement::round_robin);
  wait_for([](chare_array<lodger> a, int times) -> task<> {
    for (int i = 0; i < times; ++i) {
      a[1].invoke<&lodger::add>(1);  // waits until its element is inserted
      a.insert(1, i);
      EXPECT_EQ(co_await a[1].call<&lodger::value>(), i + 1);
      a[1].invoke<&lodger::move_out>();
      co_await quiescence();
    }
  }(house, many(50, 10)));
}

TEST_P(insertion_and_deletion, messages_after_a_deletion_are_errors) {
  const auto house = create_array<lodger>(rt, 4, placement::round_robin, 1);
  wait_for([](chare_array<lodger> a) -> task<> {
    auto before = a[2].call<&lodger::value>();
    a[2].destroy();
    auto after = a[2].call<&lodger::value>();
    EXPECT_EQ(co_await std::move(before), 1);
    bool missing = false;
    try {
      co_await std::move(after);
    } catch (const no_such_element&) {
      missing = true;
    }
    EXPECT_TRUE(missing);
  }(house));
}

TEST_P(insertion_and_deletion, deletion_after_unawaited_messages_names_one) {
  const auto house = create_array<lodger>(rt, 4, placement::round_robin, 1);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([house] {
      house[2].invoke<&lodger::letter>(5);
      house[2].destroy();
    }));
  });
  EXPECT_NE(text.find("lodger[2].letter"), std::string::npos) << text;
  EXPECT_NE(text.find("was never awaited"), std::string::npos) << text;
}

/// Two arrays that insert and delete each other's elements while messages are in flight.
struct egg : chare<egg> {
  template <class Archive>
  void serialize(Archive&) {}
  void hatch(int left, callback<int> done) {
    const int n = this_array().extent().extent();
    const int next = (this_index() + 3) % n;
    if (left == 0) return done.deliver(int(this_index()));
    this_array().insert(next);
    this_array()[next].invoke<&egg::hatch>(left - 1, done);
    this_element().destroy();
  }
};

TEST_P(insertion_and_deletion, a_second_deletion_is_an_error) {
  const auto house = create_array<lodger>(rt, 4, placement::round_robin, 1);
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait(in_vain([house] {
      house[2].destroy();
      house[2].destroy();
    }));
  });
  EXPECT_NE(text.find("lodger[2]"), std::string::npos) << text;
}

TEST_P(insertion_and_deletion, a_deletion_waits_for_its_element) {
  const auto house = create_empty_array<lodger>(rt, 4, placement::round_robin);
  wait_for([](chare_array<lodger> a) -> task<> {
    auto value = a[1].call<&lodger::value>();
    a[1].destroy();
    co_await quiescence();
    a.insert(1, 5);
    EXPECT_EQ(co_await std::move(value), 5);
    co_await quiescence();
    a.insert(1, 6);  // the index is free again
    EXPECT_EQ(co_await a[1].call<&lodger::value>(), 6);
  }(house));
}

TEST_P(insertion_and_deletion, a_chain_of_elements_makes_and_deletes_itself) {
  const auto eggs = create_empty_array<egg>(rt, 100, placement::round_robin);
  const int steps = many(2000, 200);
  eggs.insert(0);
  auto [to, last] = make_reply<int>();
  eggs[0].invoke<&egg::hatch>(steps, to);
  EXPECT_EQ(rt.sync_wait(std::move(last)), 3 * steps % 100);
}

/// Fibonacci by chares: each inserts two more, adds their results and deletes itself.
struct fibonacci : chare<fibonacci, std::uint64_t> {
  fibonacci(int n, callback<long> to) : m_to(std::move(to)) { spawn_or_answer(n); }
  explicit fibonacci(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_to, m_sum, m_came);
  }
  void add(long n) {
    m_sum += n;
    if (++m_came == 2) answer(m_sum);
  }

 private:
  void spawn_or_answer(int n) {
    if (n < 2) return answer(n);
    const auto mine = this_element().template to<&fibonacci::add, long>();
    this_array().insert(2 * this_index(), n - 1, mine);
    this_array().insert(2 * this_index() + 1, n - 2, mine);
  }
  void answer(long n) {
    m_to.deliver(std::move(n));
    this_element().destroy();
  }
  callback<long> m_to;
  long m_sum = 0;
  int m_came = 0;
};

TEST_P(insertion_and_deletion, a_tree_of_elements_computes_fibonacci_numbers) {
  const auto tree = create_sparse_array<fibonacci>(rt);
  auto [to, result] = make_reply<long>();
  const int n = many(18, 12);
  tree.insert(1, n, to);
  EXPECT_EQ(rt.sync_wait(std::move(result)), n == 18 ? 2584 : 144);
}

TEST_P(insertion_and_deletion, messages_wait_for_many_elements) {
  // Quadratic cost would be noticed. Fewer between ranks, as each call is awaited, which takes
  // longer.
  const int count = many(30'000, 3000) / (GetParam().ranks == 1 ? 1 : 10);
  const auto house = create_empty_array<lodger>(rt, count, placement::round_robin);
  wait_for([](chare_array<lodger> a, int count) -> task<> {
    for (int i = 0; i < count; ++i) a[i].invoke<&lodger::add>(i);
    co_await quiescence();
    for (int i = count; i-- > 0;) a.insert(i, 1);
    for (int i = 0; i < count; ++i) EXPECT_EQ(co_await a[i].call<&lodger::value>(), i + 1);
  }(house, count));
}

}  // namespace
}  // namespace starling
