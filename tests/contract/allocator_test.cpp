// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class allocators : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, allocators, testing::ValuesIn(all_setups), name_of);

constexpr memory_kind every_kind[] = {memory_kind::host, memory_kind::pinned, memory_kind::device};

TEST_P(allocators, recycle_returned_memory) {
  for (const memory_kind kind : every_kind) {
    recycling_allocator& source = first().allocator(kind);
    source.trim();
    const allocator_statistics before = source.statistics();
    void* const one = source.allocate(1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % 64, 0u);
    source.deallocate(one, 1000);
    EXPECT_EQ(source.allocate(1001), one) << "the same size class";
    EXPECT_EQ(source.statistics().hits, before.hits + 1);
    EXPECT_EQ(source.statistics().misses, before.misses + 1);
    EXPECT_EQ(source.statistics().in_use, before.in_use + recycling_allocator::rounded(1001));
    source.deallocate(one, 1001);
    EXPECT_EQ(source.statistics().cached, before.cached + recycling_allocator::rounded(1001));
    EXPECT_EQ(source.trim(), before.cached + recycling_allocator::rounded(1001));
    EXPECT_EQ(source.statistics().cached, 0u);
    EXPECT_GE(source.statistics().high_water, recycling_allocator::rounded(1001));
  }
}

TEST_P(allocators, round_up_by_an_eighth_at_most) {
  EXPECT_EQ(recycling_allocator::rounded(0), 0u);
  EXPECT_EQ(recycling_allocator::rounded(1), 256u);
  EXPECT_EQ(recycling_allocator::rounded(256), 256u);
  EXPECT_EQ(recycling_allocator::rounded(std::size_t(1) << 30), std::size_t(1) << 30);
  for (std::size_t bytes = 257; bytes < 3'000'000; bytes += bytes / 7 + 1) {
    const std::size_t taken = recycling_allocator::rounded(bytes);
    EXPECT_GE(taken, bytes);
    EXPECT_LE(taken, bytes + bytes / 8 + 32);
    EXPECT_EQ(recycling_allocator::rounded(taken), taken);
  }
  constexpr std::size_t large = std::size_t(64) << 20;
  for (std::size_t bytes = large - 5; bytes < large << 12; bytes += bytes / 97 + 1) {
    const std::size_t taken = recycling_allocator::rounded(bytes);
    EXPECT_GE(taken, bytes);
    EXPECT_LE(taken, bytes + bytes / (bytes > large ? 64 : 8) + 32);
    EXPECT_EQ(recycling_allocator::rounded(taken), taken);
  }
}

TEST_P(allocators, let_the_same_stream_reuse_memory_at_once) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto out = shared_buffer<std::uint64_t>(d, 100, 0);
    const void* place = nullptr;
    for (std::uint64_t i = 0; i < 100; ++i) {
      auto scratch = d.allocate<std::uint64_t>(memory_kind::device, 1000, s);
      if (i > 0) {
        EXPECT_EQ(scratch.data(), place);
      }
      place = scratch.data();
      s.fill(scratch, i);
      s.copy(out.span().subspan(i, 1), scratch.span().subspan(i, 1));
    }
    co_await s.completion();
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(out.data()[i], i);
  });
}

TEST_P(allocators, keep_memory_from_other_streams_until_it_is_free) {
  run([](device& d) -> task<void> {
    recycling_allocator& source = d.allocator(memory_kind::device);
    stream a = d.make_stream();
    stream b = d.make_stream();
    auto busy = shared_buffer<std::uint64_t>(d, 1, 1);
    a.submit(range{1}, long_work{busy.data(), 100'000});
    void* const memory = source.allocate(4096, &a.state());
    source.deallocate(memory, 4096, &a.state());
    void* const other = source.allocate(4096, &b.state());
    EXPECT_NE(other, memory) << "stream a has not passed the point of the free";
    co_await a.completion();
    EXPECT_EQ(source.allocate(4096, &b.state()), memory) << "now it has";
    source.deallocate(memory, 4096);
    source.deallocate(other, 4096);
  });
}

TEST_P(allocators, keep_memory_that_the_host_writes_until_its_stream_has_passed) {
  run([](device& d) -> task<void> {
    for (const memory_kind kind : {memory_kind::pinned, memory_kind::host}) {
      stream s = d.make_stream();
      auto out = shared_buffer<int>(d, 1000, 0);
      const int* place = nullptr;
      {
        auto in = d.allocate<int>(kind, 1000, s);
        for (int& value : in) value = 1;
        place = in.data();
        s.copy(out, in);
      }
      {
        auto other = d.allocate<int>(kind, 1000, s);
        EXPECT_NE(other.data(), place) << "the copy may not have read it yet";
        for (int& value : other) value = 2;
        co_await s.completion();
        EXPECT_EQ(out.data()[999], 1);
      }
      auto again = d.allocate<int>(kind, 1000, s);
      auto last = d.allocate<int>(kind, 1000, s);
      EXPECT_TRUE(again.data() == place || last.data() == place) << "now it has";
    }
  });
}

TEST_P(allocators, at_their_limit_order_streams_to_reuse_memory) {
  run([](device& d) -> task<void> {
    recycling_allocator& source = d.allocator(memory_kind::device);
    source.trim();
    source.set_total_limit(source.statistics().in_use + recycling_allocator::rounded(8192));
    stream a = d.make_stream();
    stream b = d.make_stream();
    auto out = shared_buffer<std::uint64_t>(d, 2, 1);
    const std::uint64_t crossed = source.statistics().cross_stream;
    {
      auto scratch = d.allocate<std::uint64_t>(memory_kind::device, 1024, a);
      a.submit(range{1}, long_work{out.data(), 100'000});
      a.fill(scratch, 11);
      a.copy(out.span().first(1), scratch.span().last(1));
    }
    {
      auto scratch = d.allocate<std::uint64_t>(memory_kind::device, 1024, b);
      b.fill(scratch, 22);
      b.copy(out.span().last(1), scratch.span().last(1));
    }
    EXPECT_EQ(source.statistics().cross_stream, crossed + 1);
    co_await b.completion();
    co_await a.completion();
    EXPECT_EQ(out.data()[0], 11u);
    EXPECT_EQ(out.data()[1], 22u);
    source.set_total_limit(recycling_allocator::no_limit);
  });
}

TEST_P(allocators, keep_their_state_when_a_stream_cannot_wait) {
  recycling_allocator& source = first().allocator(memory_kind::device);
  source.trim();
  source.set_total_limit(source.statistics().in_use + 4096);
  stream a = first().make_stream();
  stream b = first().make_stream();
  auto busy = shared_buffer<std::uint64_t>(first(), 1, 1);
  {
    auto memory = first().allocate<char>(memory_kind::device, 4096, a);
    a.submit(range{1}, long_work{busy.data(), 100});
  }
  const allocator_statistics before = source.statistics();
  EXPECT_THROW(static_cast<void>(b.capture(
                   [&] { auto memory = first().allocate<char>(memory_kind::device, 4096, b); })),
               usage_error);
  const allocator_statistics after = source.statistics();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.cached, before.cached);
  EXPECT_EQ(after.cross_stream, before.cross_stream);
  source.set_total_limit(recycling_allocator::no_limit);
}

TEST_P(allocators, wait_for_streams_before_they_refuse) {
  recycling_allocator& source = first().allocator(memory_kind::device);
  source.trim();
  source.set_total_limit(source.statistics().in_use + (2u << 20));
  stream s = first().make_stream();
  {
    auto memory = first().allocate<char>(memory_kind::device, 1u << 20, s);
    s.fill(memory, 1);  // without a wait for its completion
  }
  EXPECT_EQ(first().allocate<char>(memory_kind::device, 3u << 19).size(), 3u << 19);
  source.set_total_limit(recycling_allocator::no_limit);
}

TEST_P(allocators, return_the_cache_when_the_limit_is_lowered) {
  recycling_allocator& source = first().allocator(memory_kind::pinned);
  source.trim();
  source.deallocate(source.allocate(100'000), 100'000);
  EXPECT_GT(source.statistics().cached, 0u);
  source.set_total_limit(source.statistics().in_use);
  EXPECT_EQ(source.statistics().cached, 0u);
  source.set_total_limit(recycling_allocator::no_limit);
}

TEST_P(allocators, name_all_sizes_in_a_refusal) {
  recycling_allocator& source = first().allocator(memory_kind::device);
  source.trim();
  const std::size_t used = source.statistics().in_use;
  source.set_total_limit(used + (1u << 20));
  try {
    static_cast<void>(source.allocate(std::size_t(3) << 20));
    ADD_FAILURE() << "allocated beyond the limit";
  } catch (const out_of_memory& e) {
    const std::string text = e.what();
    for (const char* part : {"device memory", "3 MiB", "limit", "in use", "cached"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  source.set_total_limit(recycling_allocator::no_limit);
  EXPECT_EQ(source.statistics().in_use, used);
  EXPECT_THROW(static_cast<void>(source.allocate(std::size_t(1) << 60)), out_of_memory);
  EXPECT_THROW(
      static_cast<void>(first().allocate<double>(memory_kind::pinned, std::size_t(1) << 62)),
      out_of_memory);
}

TEST_P(allocators, return_the_cache_before_they_refuse) {
  recycling_allocator& source = first().allocator(memory_kind::device);
  source.trim();
  const std::size_t used = source.statistics().in_use;
  source.set_total_limit(used + (1u << 20));
  void* const small = source.allocate(600'000);
  source.deallocate(small, 600'000);
  void* const large = source.allocate(1'000'000);  // fits only without the cached block
  EXPECT_EQ(source.statistics().cached, 0u);
  source.deallocate(large, 1'000'000);
  source.set_total_limit(recycling_allocator::no_limit);
}

TEST_P(allocators, bound_their_cache) {
  recycling_allocator& source = first().allocator(memory_kind::pinned);
  source.trim();
  EXPECT_EQ(source.set_cache_limit(100'000), recycling_allocator::no_limit);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(source.allocate(40'000));
  for (void* b : blocks) source.deallocate(b, 40'000);
  EXPECT_LE(source.statistics().cached, 100'000u);
  EXPECT_GT(source.statistics().cached, 0u);
  EXPECT_EQ(source.set_cache_limit(recycling_allocator::no_limit), 100'000u);
}

TEST_P(allocators, serve_buffers_that_move) {
  buffer<int> a = first().allocate<int>(memory_kind::pinned, 10);
  int* const place = a.data();
  buffer<int> b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): moved-from buffers are empty
  EXPECT_EQ(b.data(), place);
  EXPECT_EQ(b.kind(), memory_kind::pinned);
  EXPECT_EQ(b.span().size(), 10u);
  b = buffer<int>();
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(first().allocate<int>(memory_kind::pinned, 10).data(), place) << "b's memory";
}

}  // namespace
}  // namespace starling::contract
