// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "part_kernels.hpp"

namespace starling::gpu_test {
namespace {

class cuda_parts : public gpu {
 protected:
  /// Returns the multiprocessors that kernels of the stream have run on.
  std::vector<std::uint32_t> places_of(stream& s) {
    auto used = shared_buffer<std::uint32_t>(first(), 1024, 0);
    note_places(cuda::native(s), used.data(), 4 * first().properties().compute_units);
    rt().sync_wait(s.completion());
    std::vector<std::uint32_t> result;
    for (std::uint32_t i = 0; i < used.size(); ++i)
      if (used.data()[i] != 0) result.push_back(i);
    return result;
  }
};

TEST_F(cuda_parts, of_a_device_have_no_multiprocessor_in_common) {
  for (const int units : {1, 16}) {
    const divided_device divided = first().divide(units);
    const int all = first().properties().compute_units;
    EXPECT_GE(divided.chosen.compute_units(), units);
    EXPECT_LE(divided.chosen.compute_units() + divided.remainder.compute_units(), all);
    stream one = divided.chosen.make_stream();
    stream other = divided.remainder.make_stream(priority::high);
    const auto places = places_of(one);
    const auto others = places_of(other);
    EXPECT_EQ(places.size(), std::size_t(divided.chosen.compute_units()));
    EXPECT_EQ(others.size(), std::size_t(divided.remainder.compute_units()));
    for (const std::uint32_t p : places) EXPECT_EQ(std::ranges::count(others, p), 0) << p;
  }
}

TEST_F(cuda_parts, are_the_same_ones_each_time) {
  const divided_device once = first().divide(8);
  const divided_device again = first().divide(8);
  EXPECT_EQ(&once.chosen, &again.chosen);
  EXPECT_EQ(&once.remainder, &again.remainder);
}

/// A recycled queue belongs to the same partition.
TEST_F(cuda_parts, keep_their_streams) {
  const divided_device divided = first().divide(8);
  const auto count_of = [&](auto make) {
    stream s = make();
    return places_of(s).size();
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(count_of([&] { return divided.chosen.make_stream(); }),
              std::size_t(divided.chosen.compute_units()));
    EXPECT_EQ(count_of([&] { return first().make_stream(); }),
              std::size_t(first().properties().compute_units));
  }
}

TEST_F(cuda_parts, work_with_copies_events_and_graphs_of_the_whole_device) {
  const divided_device divided = first().divide(8);
  stream one = divided.chosen.make_stream();
  stream other = divided.remainder.make_stream();
  stream whole = first().make_stream();
  auto data = first().allocate<std::uint64_t>(memory_kind::device, 1000);
  auto result = shared_buffer<std::uint64_t>(first(), 1000, 0);
  one.fill(data, 4);
  other.wait(one.record());
  other.submit(range{1000}, affine{data.data(), 3, 1});
  whole.wait(other.record());
  whole.submit(range{1000}, affine{data.data(), 2, 0});
  one.wait(whole.record());
  graph twice = one.capture([&] { one.submit(range{1000}, affine{data.data(), 2, 0}); });
  rt().sync_wait(twice.launch(one));
  one.copy(result, data);
  rt().sync_wait(one.completion());
  for (const std::uint64_t value : result) EXPECT_EQ(value, 52u);
}

TEST_F(cuda_parts, must_leave_a_remainder) {
  const int all = first().properties().compute_units;
  for (const int units : {0, -1, all, all + 1, 100'000}) {
    try {
      static_cast<void>(first().divide(units));
      ADD_FAILURE() << units;
    } catch (const usage_error& e) {
      EXPECT_NE(std::string(e.what()).find("Ask for fewer"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace starling::gpu_test
