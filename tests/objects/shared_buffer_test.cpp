// SPDX-License-Identifier: Apache-2.0
// Shared buffers: arguments that are not copied.
#include <numeric>
#include <set>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::on_clusters;

class shared_buffers : public on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, shared_buffers, starling_test::cluster_sizes,
                         starling_test::cluster_name);
INSTANTIATE_TEST_SUITE_P(over_ucx, shared_buffers, testing::Values(starling_test::over_ucx({2, 1})),
                         starling_test::cluster_name);

std::vector<int> counted_from(int first, std::size_t count) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}
shared_buffer<int> numbers(int first, std::size_t count) {
  return shared_buffer<int>(counted_from(first, count));
}
bool is_counted_from(int first, std::size_t count, const shared_buffer<int>& b) {
  return std::ranges::equal(b, counted_from(first, count));
}

constexpr std::size_t few = 10, many = 300'000;

/// Creates its shared buffer anew each time it is packed.
struct made_anew {
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (Archive::is_reading)
      ar(text, numbers_read, text);
    else
      ar(text, numbers(9, many), text);
  }
  std::string text = "around";
  shared_buffer<int> numbers_read;
};

struct library : chare<library> {
  bool has_made(const made_anew& m) {
    return m.text == "around" && is_counted_from(9, many, m.numbers_read);
  }
  bool has(int first, std::size_t count, const shared_buffer<int>& b) {
    return is_counted_from(first, count, b);
  }
  bool has_all(const std::vector<shared_buffer<int>>& all, const std::string& name) {
    bool right = name == "end";
    for (std::size_t i = 0; i < all.size(); ++i)
      right = right && is_counted_from(int(i), i % 2 == 0 ? many : few, all[i]);
    return right;
  }
  void keep(shared_buffer<int> b) { m_kept.push_back(std::move(b)); }
  std::size_t kept() const { return m_kept.size(); }
  bool is_right() const {
    for (std::size_t i = 0; i < m_kept.size(); ++i)
      if (!is_counted_from(int(i), many, m_kept[i])) return false;
    return true;
  }
  std::uintptr_t place(std::size_t i) const {
    return reinterpret_cast<std::uintptr_t>(m_kept[i].data());
  }
  task<int> sum_later(shared_buffer<int> b) {
    co_await quiet();
    co_return std::accumulate(b.begin(), b.end(), 0);
  }
  static task<> quiet() { co_return; }

 private:
  std::vector<shared_buffer<int>> m_kept;
};

task<int> sends_any_size(runtime& rt) {
  const auto libraries = create_array<library>(rt, 2 * rank_count(), placement::block);
  for (int to = 0; to < 2 * rank_count(); ++to) {
    constexpr std::size_t attached = detail::worth_attaching / sizeof(int);
    const std::size_t sizes[] = {0, 1, few, attached - 1, attached, attached + 1, many};
    for (const std::size_t n : sizes)
      EXPECT_TRUE(co_await libraries[to].call<&library::has>(3, n, numbers(3, n))) << n;
    std::vector<shared_buffer<int>> all;
    for (int i = 0; i < 6; ++i) all.push_back(numbers(i, i % 2 == 0 ? many : few));
    EXPECT_TRUE(co_await libraries[to].call<&library::has_all>(all, "end"));
    const made_anew m{"around", numbers(9, many)};
    EXPECT_TRUE(co_await libraries[to].call<&library::has_made>(m));
    EXPECT_EQ(co_await libraries[to].call<&library::sum_later>(numbers(0, 100)), 4950);
    EXPECT_EQ(co_await libraries[to].call<&library::sum_later>(
                  shared_buffer<int>(std::vector<int>(many, 2))),
              2 * int(many));
  }
  co_return 7;
}
TEST_P(shared_buffers, travel_alone_and_with_other_arguments) {
  all.expect(7, [](runtime& rt) { return sends_any_size(rt); });
}

/// The kept buffers exceed the network's window: kept memory is not in flight.
TEST_P(shared_buffers, may_be_kept) {
  all.expect(0, [](runtime& rt) -> task<int> {
    constexpr int count = 12;
    const auto libraries = create_array<library>(rt, rank_count(), placement::block);
    const auto last = libraries[rank_count() - 1];
    for (int i = 0; i < count; ++i) last.invoke<&library::keep>(numbers(i, many));
    EXPECT_EQ(co_await last.call<&library::kept>(), std::size_t(count));
    EXPECT_TRUE(co_await last.call<&library::is_right>());
    co_return 0;
  });
}

/// The elements of a rank share a received buffer; within the sender's rank there is no copy.
TEST_P(shared_buffers, are_shared_by_all_elements_of_a_rank) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const int each = 4, ranks = rank_count();
    const auto libraries = create_array<library>(rt, each * ranks, placement::block);
    const auto mine = numbers(0, many);
    libraries.invoke<&library::keep>(mine);
    std::set<std::uintptr_t> places;
    for (int i = 0; i < each * ranks; ++i) {
      EXPECT_TRUE(co_await libraries[i].call<&library::is_right>());
      places.insert(co_await libraries[i].call<&library::place>(0));
    }
    EXPECT_EQ(places.size(), std::size_t(ranks));
    EXPECT_EQ(places.count(reinterpret_cast<std::uintptr_t>(mine.data())), 1u);
    co_return 0;
  });
}

/// The owner is released when all receivers have read.
TEST_P(shared_buffers, release_their_owner) {
  std::atomic<bool> is_owned{true};
  all.expect(0, [&](runtime& rt) -> task<int> {
    return [](runtime& rt, std::atomic<bool>& is_owned) -> task<int> {
      const auto libraries = create_array<library>(rt, rank_count(), placement::block);
      const auto memory = std::make_shared<std::vector<int>>(counted_from(5, many));
      std::shared_ptr<const void> owner(memory.get(),
                                        [memory, &is_owned](const void*) { is_owned = false; });
      shared_buffer<int> b(*memory, std::move(owner));
      for (int to = 0; to < rank_count(); ++to)
        EXPECT_TRUE(co_await libraries[to].call<&library::has>(5, many, b));
      EXPECT_TRUE(is_owned);
      co_return 0;
    }(rt, is_owned);
  });
  EXPECT_FALSE(is_owned);
}

TEST(shared_buffer, is_packed_as_a_copy) {
  const auto bytes = pack(7, numbers(1, many), std::string("x"));
  const auto [n, b, text] =
      unpack<std::tuple<int, shared_buffer<int>, std::string>>(std::span(bytes));
  EXPECT_EQ(n, 7);
  EXPECT_TRUE(is_counted_from(1, many, b));
  EXPECT_EQ(text, "x");
}

struct choice {
  bool value;
};
struct forged_buffer {
  std::uint64_t count;
  std::uint8_t place;
  std::uint8_t contents[20];
};

std::string error_of(const forged_buffer& f, detail::lender lent_by = {}) {
  return starling_test::message_of<archive_error>([&] {
    input_archive ar(std::as_bytes(std::span(&f, 1)), lent_by);
    static_cast<void>(ar.read<shared_buffer<choice>>());
  });
}

TEST(shared_buffer, is_refused_when_its_bytes_contradict_its_header) {
  static_assert(travels<shared_buffer<choice>> && !travels<shared_buffer<int>*>);
  const detail::lender nobody{[](void*) { return std::shared_ptr<const void>(); }, nullptr};
  EXPECT_NE(error_of({1000, 0, {}}).find("1000 elements"), std::string::npos);
  EXPECT_NE(error_of({4, 1, {}}).find("no memory is attached"), std::string::npos);
  EXPECT_NE(error_of({24, 1, {}}, nobody).find("it needs 24"), std::string::npos);
  EXPECT_NE(error_of({3, 0, {1, 2, 0}}).find("neither 0 nor 1"), std::string::npos);
  EXPECT_NE(error_of({4, 2, {}}).find("flag"), std::string::npos);
}

}  // namespace
}  // namespace starling
