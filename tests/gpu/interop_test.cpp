// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <thread>

#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

using cuda_interop = gpu;

TEST_F(cuda_interop, hand_written_kernels_run_in_the_order_of_the_stream) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1000, 1);
    stream s = d.make_stream();
    s.submit(range{1000}, affine{a.data(), 1, 4});
    double_by_hand(cuda::native(s), a.data(), 1000);
    s.submit(range{1000}, affine{a.data(), 1, 1});
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, 11u);
    double_by_hand(cuda::native(s), a.data(), 1000);  // no operation of the runtime after it
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, 22u);
  });
}

TEST_F(cuda_interop, streams_given_to_libraries_become_idle_and_are_recycled) {
  auto a = shared_buffer<std::uint64_t>(first(), 1000, 1);
  const std::size_t before = first().stream_count();
  for (int i = 0; i < 50; ++i) {
    stream s = first().make_stream();
    double_by_hand(cuda::native(s), a.data(), 1000);
    while (!s.is_idle()) std::this_thread::yield();
  }
  for (const std::uint64_t value : a) EXPECT_EQ(value, std::uint64_t(1) << 50);
  EXPECT_LT(first().stream_count(), before + 10);
}

TEST_F(cuda_interop, libraries_take_the_stream) {
  run([](device& d) -> task<void> {
    constexpr int n = 100'000;
    stream s = d.make_stream();
    auto in = shared_buffer<std::uint64_t>(d, n, 1);
    auto out = shared_buffer<std::uint64_t>(d, 1, 0);
    const std::size_t bytes = sum_by_library(cuda::native(s), in.data(), out.data(), n, nullptr, 0);
    auto workspace = d.allocate<std::byte>(memory_kind::device, bytes + 1, s);
    s.submit(range{n}, affine{in.data(), 2, 1});
    static_cast<void>(
        sum_by_library(cuda::native(s), in.data(), out.data(), n, workspace.data(), bytes));
    co_await s.completion();
    EXPECT_EQ(out.data()[0], 3u * n);
  });
}

TEST_F(cuda_interop, streams_and_events_of_the_user_become_futures) {
  const cuda::native_stream foreign = make_native_stream();
  auto a = shared_buffer<std::uint64_t>(first(), 64, 3);
  double_by_hand(foreign, a.data(), 64);
  rt().sync_wait(cuda::get_future(first(), foreign));
  EXPECT_EQ(a.data()[63], 6u);
  double_by_hand(foreign, a.data(), 64);
  const cuda::native_event point = record_native_event(foreign);
  rt().sync_wait(cuda::get_future(first(), point));
  EXPECT_EQ(a.data()[0], 12u);
  destroy(point);
  destroy(foreign);  // before the runtime ends
}

const auto legacy = reinterpret_cast<cuda::native_stream>(0x1);      // cudaStreamLegacy
const auto per_thread = reinterpret_cast<cuda::native_stream>(0x2);  // cudaStreamPerThread

TEST_F(cuda_interop, default_streams_become_futures_of_the_work_of_all_threads) {
  for (const cuda::native_stream one : {cuda::native_stream(nullptr), legacy}) {
    auto a = shared_buffer<std::uint64_t>(first(), 1 << 20, 3);
    for (int i = 0; i < 20; ++i) double_by_hand(one, a.data(), 1 << 20);
    std::thread([&] { double_by_hand(per_thread, a.data(), 1 << 20); }).join();
    rt().sync_wait(cuda::get_future(first(), one));
    for (const std::uint64_t value : a) ASSERT_EQ(value, std::uint64_t(3) << 21);
  }
}

TEST_F(cuda_interop, thread_local_streams_become_futures_by_events_only) {
  EXPECT_THROW(static_cast<void>(cuda::get_future(first(), per_thread)), usage_error);
  auto a = shared_buffer<std::uint64_t>(first(), 64, 3);
  double_by_hand(per_thread, a.data(), 64);
  const cuda::native_event point = record_native_event(per_thread);
  rt().sync_wait(cuda::get_future(first(), point));
  EXPECT_EQ(a.data()[63], 6u);
  destroy(point);
}

TEST_F(cuda_interop, tasks_need_not_name_the_device) {
  const cuda::native_stream foreign = make_native_stream();
  auto a = shared_buffer<std::uint64_t>(first(), 64, 5);
  rt().sync_wait([](cuda::native_stream s, std::uint64_t* numbers) -> task<void> {
    double_by_hand(s, numbers, 64);
    co_await cuda::get_future(s);
  }(foreign, a.data()));
  EXPECT_EQ(a.data()[63], 10u);
  destroy(foreign);
}

TEST_F(cuda_interop, high_priority_streams_have_the_higher_priority) {
  stream urgent = first().make_stream(priority::high);
  stream usual = first().make_stream(priority::normal);
  EXPECT_LT(priority_of(cuda::native(urgent)), priority_of(cuda::native(usual)));
}

}  // namespace
}  // namespace starling::gpu_test
