// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

using cuda_graphs = gpu;

TEST_F(cuda_graphs, recorded_anew_each_time_are_updated_and_right) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 64, 1);
    stream s = d.make_stream();
    std::uint64_t expected = 1;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const graph g = s.capture([&] {
        s.submit(range{64}, affine{a.data(), 3, i});
        s.submit(range{64}, affine{a.data(), 1, 7});
      });
      static_cast<void>(g.launch(s));  // dropped while it may still run
      expected = 3 * expected + i + 7;
    }
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, expected);
  });
}

TEST_F(cuda_graphs, hold_hand_written_kernels) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 64, 1);
    stream s = d.make_stream();
    const cuda::native_stream raw = cuda::native(s);
    const graph g = s.capture([&] {
      s.submit(range{64}, affine{a.data(), 1, 1});
      double_by_hand(raw, a.data(), 64);
    });
    co_await g.launch(s);
    co_await g.launch(s);
    for (const std::uint64_t value : a) EXPECT_EQ(value, 10u);
  });
}

TEST_F(cuda_graphs, two_alternate_over_many_steps) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 64, 0);
    stream s = d.make_stream();
    const graph add = s.capture([&] { s.submit(range{64}, affine{a.data(), 1, 3}); });
    const graph scale = s.capture([&] { s.submit(range{64}, affine{a.data(), 5, 0}); });
    std::uint64_t expected = 0;
    for (int i = 0; i < 200; ++i) {
      static_cast<void>(add.launch(s));
      static_cast<void>(scale.launch(s));
      expected = (expected + 3) * 5;
    }
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, expected);
  });
}

}  // namespace
}  // namespace starling::gpu_test
