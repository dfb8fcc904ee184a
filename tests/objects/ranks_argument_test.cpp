// SPDX-License-Identifier: Apache-2.0
// Arguments of messages between ranks.
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::on_clusters;

class arguments_between_ranks : public on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, arguments_between_ranks, starling_test::cluster_sizes,
                         starling_test::cluster_name);

/// Counts its copies.
struct sheet {
  sheet() = default;
  explicit sheet(int n) : number(n) {}
  sheet(const sheet& other) : number(other.number) { ++copies; }
  sheet(sheet&&) = default;
  sheet& operator=(const sheet&) = delete;
  sheet& operator=(sheet&&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number);
  }
  int number = 0;
  static inline std::atomic<int> copies{0};
};

struct reader : chare<reader> {
  void read(sheet s) { m_sum += s.number; }
  int add_up(rank_local<std::span<const int>> values) const {
    return std::accumulate(values->begin(), values->end(), 0);
  }
  int sum_with(const sheet& s, double factor) { return m_sum + int(factor * s.number); }

 private:
  int m_sum = 0;
};

TEST_P(arguments_between_ranks, are_written_in_place_and_not_copied) {
  sheet::copies = 0;
  all.expect(10 + 6, [](runtime& rt) -> task<int> {
    const auto readers = create_array<reader>(rt, rank_count(), placement::block);
    const auto last = readers[rank_count() - 1];
    const sheet kept(10);
    last.invoke<&reader::read>(kept);
    co_return co_await last.call<&reader::sum_with>(kept, 0.6f);  // converts the argument
  });
  // Within a rank a message holds copies.
  EXPECT_EQ(sheet::copies, all.ranks == 1 ? 2 : 0);
}

TEST_P(arguments_between_ranks, of_a_rank_reach_elements_of_that_rank_only) {
  all.expect(6, [](runtime& rt) -> task<int> {
    const auto readers = create_array<reader>(rt, rank_count(), placement::block);
    const std::vector<int> values{1, 2, 3};
    const std::span<const int> view(values);
    const int last = rank_count() - 1;
    if (last > 0) {
      EXPECT_THROW(static_cast<void>(readers[last].call<&reader::add_up>(view)), usage_error);
    }
    co_return co_await readers[0].call<&reader::add_up>(view);
  });
}

}  // namespace
}  // namespace starling
