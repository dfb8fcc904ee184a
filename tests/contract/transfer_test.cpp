// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class transfers : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, transfers, testing::ValuesIn(all_setups), name_of);

constexpr memory_kind every_kind[] = {memory_kind::host, memory_kind::pinned, memory_kind::device};

task<void> copy_through(device& d, memory_kind from, memory_kind to, std::size_t count) {
  stream s = d.make_stream();
  std::vector<int> source(count);
  std::iota(source.begin(), source.end(), 1);
  std::vector<int> result(count, -1);
  auto a = d.allocate<int>(from, count, s);
  auto b = d.allocate<int>(to, count, s);
  s.copy(a, source);
  s.copy(b, a);
  s.copy(result, b);
  co_await s.completion();
  EXPECT_EQ(result, source) << to_string(from) << " to " << to_string(to);
}

TEST_P(transfers, work_between_every_pair_of_memory_kinds) {
  run([](device& d) -> task<void> {
    for (const memory_kind from : every_kind)
      for (const memory_kind to : every_kind)
        for (const std::size_t count : {std::size_t(1), std::size_t(1000), std::size_t(300'001)})
          co_await copy_through(d, from, to, count);
  });
}

TEST_P(transfers, let_kernels_work_on_memory_that_was_pinned) {
  run([](device& d) -> task<void> {
    struct alignas(4096) page {
      std::array<std::uint64_t, 512> words;
    };
    const auto memory = std::make_unique<page>();
    memory->words.fill(5);
    const auto bytes = std::as_writable_bytes(std::span(memory->words));
    try {
      d.pin(bytes);
    } catch (const device_error& e) {
      const bool may_refuse =
          d.backend() == backend_kind::sycl || d.backend() == backend_kind::kokkos;
      EXPECT_TRUE(may_refuse) << e.what();
      co_return;
    }
    stream s = d.make_stream();
    s.submit(range{512}, affine{memory->words.data(), 3, 1});
    co_await s.completion();
    d.unpin(bytes);
    for (const std::uint64_t word : memory->words) EXPECT_EQ(word, 16u);
    d.pin(bytes);  // a second time
    d.unpin(bytes);
  });
}

template <class T>
task<void> fill_and_check(device& d, T value) {
  stream s = d.make_stream();
  for (const std::size_t count : {std::size_t(1), std::size_t(13), std::size_t(70'001)}) {
    auto b = d.allocate<T>(memory_kind::device, count + 2, s);
    std::vector<T> result(count + 2);
    s.fill(b, T{});
    s.fill(b.span().subspan(1, count), value);
    s.copy(result, b);
    co_await s.completion();
    EXPECT_EQ(result.front(), T{});
    EXPECT_EQ(result.back(), T{});
    for (std::size_t i = 1; i <= count; ++i)
      if (result[i] != value) {
        ADD_FAILURE() << "element " << i << " of " << count;
        break;
      }
  }
}

TEST_P(transfers, fill_elements_of_every_size) {
  run([](device& d) -> task<void> {
    co_await fill_and_check<std::uint8_t>(d, 0xa5);
    co_await fill_and_check<std::uint16_t>(d, 0xbeef);
    co_await fill_and_check<float>(d, 1.5f);
    co_await fill_and_check<double>(d, -2.25);
    co_await fill_and_check<std::array<double, 2>>(d, {3.0, -4.0});
  });
}

TEST_P(transfers, of_no_bytes_have_no_effect) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    std::vector<int> a;
    std::vector<int> b;
    s.copy(a, b);
    s.fill(a, 1);
    auto empty = d.allocate<int>(memory_kind::device, 0, s);
    EXPECT_EQ(empty.data(), nullptr);
    co_await s.completion();
  });
}

TEST_P(transfers, cross_devices) {
  runtime_options options = options_for(GetParam());
  if (kernels_throw()) {  // the processor: any number of devices
    options.extra["devices"] = "2";
    start(options);
  }
  if (all().count() < 2) GTEST_SKIP() << "only one device here";
  device& other = all().device(1);
  EXPECT_TRUE(first().reaches(first()));
  const bool connected = first().enable_peer_access(other);
  EXPECT_EQ(connected, first().reaches(other));
  rt().sync_wait([](device& a, device& b) -> task<void> {
    stream near = a.make_stream();
    stream far = b.make_stream();
    EXPECT_EQ(far.device().id(), device_id{1});
    auto here = a.allocate<std::uint64_t>(memory_kind::device, 100, near);
    auto there = b.allocate<std::uint64_t>(memory_kind::device, 100, far);
    std::vector<std::uint64_t> result(100);
    near.fill(here, 5);
    far.fill(there, 0);
    near.submit(range{100}, affine{here.data(), 2, 1});
    far.wait(near.record());
    far.copy(there, here);
    far.submit(range{100}, affine{there.data(), 2, 1});
    far.copy(result, there);
    co_await far.completion();
    co_await near.completion();
    for (const std::uint64_t value : result) EXPECT_EQ(value, 23u);
  }(first(), other));
}

}  // namespace
}  // namespace starling::contract
