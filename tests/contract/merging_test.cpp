// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "busy_stream.hpp"
#include "fixture.hpp"

namespace starling::contract {
namespace {

/// Every backend forms batches; further tests check their results.
class merging : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, merging, testing::ValuesIn(all_setups), name_of);

TEST_P(merging, makes_one_batch_of_submissions_that_arrive_while_the_stream_is_busy) {
  const bool kernels_on_host = kernels_throw();
  run([kernels_on_host](device& d) -> task<void> {
    constexpr std::size_t count = 150;  // more than one launch of CUDA takes
    auto host = shared_buffer<std::uint64_t>(d, count, 1);
    auto memory = d.allocate<std::uint64_t>(memory_kind::device, count);
    aggregator gathered(d, {.most = count + 1, .streams = 1});
    auto busy = co_await busy_stream::of(d, gathered, kernels_on_host);
    std::vector<future<void>> waiting;
    for (std::size_t i = 0; i < count; ++i) {
      sequence s = gathered.begin();
      s.copy(memory.span().subspan(i, 1), host.span().subspan(i, 1));
      s.submit(range{1}, affine{memory.data() + i, 3, i});
      s.submit(range{1}, affine{memory.data() + i, 5, 1});
      s.copy(host.span().subspan(i, 1), memory.span().subspan(i, 1));
      waiting.push_back(s.get_future());
    }
    EXPECT_EQ(gathered.statistics().launches, 1u) << "the one that holds the stream";
    co_await busy->release();
    for (future<void>& f : waiting) co_await std::move(f);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(host.data()[i], 5 * (3 + i) + 1);
    const aggregation_statistics counts = gathered.statistics();
    EXPECT_EQ(counts.largest, count);
    EXPECT_EQ(counts.launches, 2u) << "and the one that held the stream";
    EXPECT_EQ(counts.submissions, count + 1);
    EXPECT_EQ(counts.divided, 0u);
  });
}

}  // namespace
}  // namespace starling::contract
