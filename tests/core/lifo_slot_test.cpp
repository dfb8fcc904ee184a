// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core/detail/lifo_slot.hpp>

namespace {

using starling::detail::lifo_slot;

constexpr auto no_barrier = [] { return false; };
constexpr auto alone = [] { return true; };  // a thief on the owner's own thread needs no barrier

TEST(a_lifo_slot, gives_its_owner_what_it_put) {
  int item = 0;
  lifo_slot<int> slot;
  EXPECT_EQ(slot.take(), nullptr);
  slot.put(item);
  EXPECT_TRUE(slot.occupied());
  EXPECT_TRUE(slot.holds(&item));
  EXPECT_EQ(slot.take(), &item);
  EXPECT_FALSE(slot.occupied());
}

TEST(a_lifo_slot, gives_a_thief_the_item_once) {
  int item = 0;
  lifo_slot<int> slot;
  EXPECT_EQ(slot.steal(alone), nullptr);
  slot.put(item);
  EXPECT_EQ(slot.steal(alone), &item);
  EXPECT_FALSE(slot.occupied());
  EXPECT_EQ(slot.steal(alone), nullptr);
  EXPECT_EQ(slot.take(), nullptr);
  slot.put(item);
  EXPECT_EQ(slot.take(), &item);
}

TEST(a_lifo_slot, keeps_its_item_when_there_is_no_barrier) {
  int item = 0;
  lifo_slot<int> slot;
  slot.put(item);
  EXPECT_EQ(slot.steal(no_barrier), nullptr);
  EXPECT_EQ(slot.take(), &item);
}

TEST(a_lifo_slot, lets_the_owner_win_until_the_barrier_of_the_thief_has_run) {
  int item = 0;
  int other = 0;
  lifo_slot<int> slot;
  slot.put(item);
  EXPECT_EQ(slot.steal([&] { return slot.take() == &item; }), nullptr);
  slot.put(item);
  const auto replace = [&] {
    EXPECT_EQ(slot.take(), &item);
    slot.put(other);
    return true;
  };
  EXPECT_EQ(slot.steal(replace), nullptr);
  EXPECT_EQ(slot.take(), &other);
}

// --- accesses in the order of a script: each letter permits that actor's next access

thread_local char actor = 0;
std::string_view script;
std::atomic<std::size_t> place{0};  // beyond the script all accesses are permitted

template <class T>
class scripted {
 public:
  explicit scripted(T value) : m_value(value) {}
  T load(std::memory_order) const {
    return in_turn([this] { return m_value.load(); });
  }
  void store(T value, std::memory_order) {
    in_turn([this, value] { return m_value.exchange(value); });
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order) {
    return in_turn([&] { return m_value.compare_exchange_strong(expected, value); });
  }

 private:
  template <class F>
  static auto in_turn(F access) {
    if (actor != 0)
      while (place < script.size() && script[place] != actor) std::this_thread::yield();
    const auto result = access();
    if (actor != 0 && place < script.size()) ++place;
    return result;
  }
  std::atomic<T> m_value;
};

// Thief 1 finds the item; thief 2 has read it; the owner takes it; thief 2 claims; thief 1 ends:
// two claims of one item have the same word.
TEST(a_lifo_slot, handles_a_second_claim_of_the_same_item) {
  int item = 0;
  lifo_slot<int, scripted> slot;
  slot.put(item);
  script =
      "111"
      "2"
      "OOOO"
      "2"
      "1";
  std::atomic<int> takers{0};
  const auto as = [&](char who, auto act) {
    return std::thread([&takers, who, act] {
      actor = who;
      if (act() != nullptr) ++takers;
    });
  };
  std::thread first = as('1', [&] { return slot.steal(alone); });
  std::thread second = as('2', [&] { return slot.steal(alone); });
  std::thread owner = as('O', [&] { return slot.take(); });
  first.join();
  second.join();
  owner.join();
  EXPECT_EQ(takers, 1);
  // No claim remains.
  slot.put(item);
  EXPECT_EQ(slot.steal(alone), &item);
}

// The barrier of this test: a thief waits until the owner has executed a fence since.
TEST(a_lifo_slot, gives_each_item_to_exactly_one) {
  constexpr int count = 40000;
  std::vector<std::atomic<int>> taken(count);
  std::vector<int> items(count);
  lifo_slot<int> slot;
  std::atomic<std::uint64_t> fences{0};  // number of fences that the owner has executed
  std::atomic<bool> done{false};
  const auto barrier = [&] {
    const std::uint64_t before = fences.load();
    while (fences.load() < before + 2 && !done) std::this_thread::yield();
    return true;
  };
  const auto count_one = [&](const int* i) { ++taken[std::size_t(i - items.data())]; };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t)
    thieves.emplace_back([&] {
      while (!done)
        if (const int* i = slot.steal(barrier)) count_one(i);
    });
  for (int& i : items) {
    slot.put(i);
    if ((&i - items.data()) % 10 == 0) {
      fences.fetch_add(1);
      std::this_thread::yield();
    }
    if (const int* mine = slot.take()) count_one(mine);
  }
  done = true;
  for (auto& t : thieves) t.join();
  for (const auto& n : taken) ASSERT_EQ(n, 1);
}

}  // namespace
