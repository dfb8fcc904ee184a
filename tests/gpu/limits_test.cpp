// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

using cuda_limits = gpu;

/// Expects that a kernel visits each index of the range once, and writes nothing else.
task<void> visit_all(device& d, range extent) {
  stream s = d.make_stream();
  const auto n = static_cast<std::size_t>(extent.size());
  auto visits = d.allocate<int>(memory_kind::pinned, n + 1);
  s.fill(visits, 0);
  s.submit(extent, visit{visits.data(), extent});
  co_await s.completion();
  std::size_t wrong = visits.data()[n] == 0 ? 0 : 1;
  for (std::size_t i = 0; i < n; ++i) wrong += visits.data()[i] == 1 ? 0 : 1;
  EXPECT_EQ(wrong, 0u) << extent.nx << " x " << extent.ny << " x " << extent.nz;
}

TEST_F(cuda_limits, ranges_may_exceed_the_grid) {
  run([](device& d) -> task<void> {
    co_await visit_all(d, {1, 200'000, 2});
    co_await visit_all(d, {1, 3, 5'000'000});  // 65535 blocks of 32 in z
    co_await visit_all(d, {97, 70'001, 1});
    co_await visit_all(d, {12'345'678});
    co_await visit_all(d, {8, 8, 8});
    co_await visit_all(d, {300, 5, 7});
  });
}

/// Expects one visit of each index that 2^20 divides in a row of `nx`, and no other write.
template <class Kernel>
task<void> visit_row(device& d, std::int64_t nx) {
  stream s = d.make_stream();
  const auto n = static_cast<std::size_t>((nx + (1 << 20) - 1) >> 20);
  auto visits = d.allocate<unsigned>(memory_kind::pinned, n + 1);
  s.fill(visits, 0u);
  s.submit(range{nx}, Kernel{visits.data()});
  co_await s.completion();
  std::size_t wrong = visits.data()[n] == 0 ? 0 : 1;
  for (std::size_t i = 0; i < n; ++i) wrong += visits.data()[i] == 1 ? 0 : 1;
  EXPECT_EQ(wrong, 0u) << nx;
}

TEST_F(cuda_limits, rows_may_have_all_indices_of_an_int) {
  run([](device& d) -> task<void> {
    co_await visit_row<visit_some_narrow>(d, 2'147'483'647);
    co_await visit_row<visit_some_narrow>(d, 2'147'482'625);
  });
}

TEST_F(cuda_limits, rows_may_have_more_indices_than_an_int_for_kernels_with_wide_indices) {
  run([](device& d) -> task<void> {
    co_await visit_row<visit_some>(d, 5'000'000'000);
    co_await visit_row<visit_some>(d, 600'000'000'000);  // more blocks than a grid has
    co_await visit_row<visit_some>(d, 12'345'678);
  });
}

TEST_F(cuda_limits, groups_may_ask_for_much_scratch) {
  run([](device& d) -> task<void> {
    constexpr std::size_t n = reverse_in_scratch::scratch_bytes / sizeof(std::uint64_t);
    auto a = shared_buffer<std::uint64_t>(d, 3 * n, 0);
    for (std::size_t i = 0; i < 3 * n; ++i) a.data()[i] = i;
    stream s = d.make_stream();
    s.submit(range{3}, reverse_in_scratch{a.data()});
    co_await s.completion();
    for (std::size_t i = 0; i < 3 * n; ++i) EXPECT_EQ(a.data()[i], (i / n) * n + n - 1 - i % n);
  });
}

TEST_F(cuda_limits, more_scratch_than_there_is_refuses_the_launch_alone) {
  stream s = first().make_stream();
  auto a = shared_buffer<std::uint64_t>(first(), 1, 2);
  EXPECT_THROW(s.submit(range{1}, reverse_in_scratch{a.data()}, group_shape{256, 1 << 24}),
               usage_error);
  s.submit(range{1}, affine{a.data(), 5, 0});
  rt().sync_wait(s.completion());
  EXPECT_EQ(a.data()[0], 10u);
}

TEST_F(cuda_limits, too_large_an_allocation_is_out_of_memory_and_harmless) {
  constexpr std::size_t petabyte = std::size_t(1) << 50;
  EXPECT_THROW(static_cast<void>(first().allocate<std::byte>(memory_kind::device, petabyte)),
               out_of_memory);
  auto a = shared_buffer<std::uint64_t>(first(), 1, 2);
  stream s = first().make_stream();
  s.submit(range{1}, affine{a.data(), 5, 0});
  rt().sync_wait(s.completion());
  EXPECT_EQ(a.data()[0], 10u);
}

TEST_F(cuda_limits, a_kernel_compiled_for_no_gpu_is_named) {
  stream s = first().make_stream();
  try {
    s.submit(range{1}, host_only{});
    FAIL() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("host_only"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("instantiate"), std::string::npos) << e.what();
  }
}

TEST_F(cuda_limits, a_missing_device_is_a_bad_option) {
  runtime_options o = cuda_options();
  o.extra["devices"] = "0,99";
  runtime other(o);
  EXPECT_THROW(static_cast<void>(devices(other)), option_error);
}

TEST_F(cuda_limits, a_kernel_may_store_the_completion_word) {
  runtime_options o = cuda_options();
  o.extra["word-store"] = "kernel";
  start(o);
  auto a = shared_buffer<std::uint64_t>(first(), 1, 1);
  stream s = first().make_stream();
  for (std::uint64_t expected = 2; expected < 1000; expected *= 2) {
    s.submit(range{1}, affine{a.data(), 2, 0});
    rt().sync_wait(s.completion());
    EXPECT_EQ(a.data()[0], expected);
  }
  o.extra["word-store"] = "pigeon";
  runtime other(o);
  EXPECT_THROW(static_cast<void>(devices(other)), option_error);
}

/// A completion during the registration of its waiter must be seen by polling, not by the query of
/// streams without progress a tenth of a second later.
TEST_F(cuda_limits, no_completion_is_left_to_the_stall_query) {
  auto a = shared_buffer<std::uint64_t>(first(), 64, 0);
  const auto chain = [&](int number) -> task<> {
    stream s = first().make_stream();
    for (int i = 0; i < 500; ++i) {
      s.submit(range{1}, affine{a.data() + number, 1, 1});
      co_await s.completion();
    }
  };
  std::vector<future<>> ends;
  for (int i = 0; i < 64; ++i) ends.push_back(async(rt().get_executor(), chain, i));
  rt().sync_wait(when_all(std::move(ends)));
  for (const std::uint64_t n : a) EXPECT_EQ(n, 500u);
  EXPECT_EQ(all().stall_queries(), 0u);
}

TEST_F(cuda_limits, fills_of_any_element_at_any_address) {
  run([](device& d) -> task<void> {
    struct pair {
      std::uint16_t first, second;
    };
    struct four {
      float x, y, z, w;
    };
    stream s = d.make_stream();
    auto pairs = shared_buffer<pair>(d, 101, pair{0, 0});
    auto fours = shared_buffer<four>(d, 33, four{0, 0, 0, 0});
    auto bytes = shared_buffer<unsigned char>(d, 77, 0);
    s.fill(pairs.span().subspan(1), pair{7, 9});
    s.fill(fours.span().subspan(1), four{1, 2, 3, 4});
    s.fill(bytes.span().subspan(3, 70), 200);
    co_await s.completion();
    EXPECT_EQ(pairs.data()[0].second, 0);
    EXPECT_EQ(pairs.data()[100].first, 7);
    EXPECT_EQ(pairs.data()[100].second, 9);
    EXPECT_EQ(fours.data()[0].w, 0.0f);
    EXPECT_EQ(fours.data()[32].x, 1.0f);
    EXPECT_EQ(fours.data()[32].w, 4.0f);
    EXPECT_EQ(bytes.data()[2], 0);
    EXPECT_EQ(bytes.data()[3], 200);
    EXPECT_EQ(bytes.data()[72], 200);
    EXPECT_EQ(bytes.data()[73], 0);
  });
}

TEST_F(cuda_limits, fills_reach_pageable_memory_in_order) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto source = shared_buffer<std::uint32_t>(d, 1000, 5);
    auto there = d.allocate<std::uint32_t>(memory_kind::host, 1000);
    s.copy(there, source);
    s.fill(there.span().first(10), 0x01020304);
    s.copy(source, there);
    co_await s.completion();
    EXPECT_EQ(source.data()[0], 0x01020304u);
    EXPECT_EQ(source.data()[9], 0x01020304u);
    EXPECT_EQ(source.data()[10], 5u);
  });
}

}  // namespace
}  // namespace starling::gpu_test
