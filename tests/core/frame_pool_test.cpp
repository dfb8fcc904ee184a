// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "support.hpp"
#include "support/scarce_memory.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using detail::block_kind;

TEST(the_frame_pool, gives_aligned_blocks_of_every_size) {
  for (std::size_t size : {1u, 16u, 63u, 64u, 65u, 1000u, 2048u, 2049u, 100000u}) {
    std::vector<void*> blocks;
    for (int i = 0; i < 10; ++i) {
      void* block = detail::pool_allocate(block_kind::state, size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
      std::memset(block, 0xab, size);
      blocks.push_back(block);
    }
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    for (void* block : blocks) detail::pool_deallocate(block_kind::state, block, size);
  }
}

TEST(the_frame_pool, gives_back_the_block_freed_last) {
  void* first = detail::pool_allocate(block_kind::state, 200);
  detail::pool_deallocate(block_kind::state, first, 200);
  void* second = detail::pool_allocate(block_kind::state, 200);
  EXPECT_EQ(first, second);
  detail::pool_deallocate(block_kind::state, second, 200);
}

TEST(the_frame_pool, moves_blocks_from_freeing_to_allocating_threads) {
  constexpr std::size_t size = 1900;  // a size class with no other user here
  constexpr int count = 3000;
  std::set<void*> seen;
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i)
      blocks.push_back(detail::pool_allocate(block_kind::state, size));
    seen.insert(blocks.begin(), blocks.end());
    std::thread([&blocks] {
      for (void* b : blocks) detail::pool_deallocate(block_kind::state, b, size);
    }).join();
  }
  // Without the blocks' return each round would take fresh memory.
  EXPECT_LT(seen.size(), std::size_t(3 * count));
}

TEST(the_frame_pool, gets_blocks_back_from_threads_that_only_free) {
  constexpr std::size_t size = 1800;
  std::set<void*> seen;
  for (int round = 0; round < 200; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 30; ++i) blocks.push_back(detail::pool_allocate(block_kind::state, size));
    seen.insert(blocks.begin(), blocks.end());
    std::thread([&blocks] {  // too few to overflow its cache: they return at its end
      for (void* b : blocks) detail::pool_deallocate(block_kind::state, b, size);
    })
        .join();
  }
  EXPECT_LT(seen.size(), 200u);
}

TEST(the_frame_pool, gets_blocks_back_without_any_memory) {
  constexpr std::size_t size = 1700;
  constexpr int count = 27 * (64 * 1024 / 1728);  // whole slabs, so that no free block remains here
  std::vector<void*> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(detail::pool_allocate(block_kind::state, size));
  const std::set<void*> before(blocks.begin(), blocks.end());
  std::thread([&blocks] {
    detail::pool_deallocate(block_kind::state, blocks.back(), size);
    refuse_memory(true);  // also at the thread's end, when the remaining blocks return
    for (int i = 0; i + 1 < count; ++i)
      detail::pool_deallocate(block_kind::state, blocks[std::size_t(i)], size);
  }).join();
  std::set<void*> after;
  for (int i = 0; i < count; ++i) after.insert(detail::pool_allocate(block_kind::state, size));
  EXPECT_EQ(after, before);
  for (void* block : after) detail::pool_deallocate(block_kind::state, block, size);
}

TEST(the_frame_pool, serves_threads_at_the_same_time) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<unsigned char*> mine;
      for (int i = 0; i < 2000; ++i) {
        auto* b = static_cast<unsigned char*>(detail::pool_allocate(block_kind::state, 300));
        std::memset(b, t, 300);
        mine.push_back(b);
        if (i % 3 == 0) {
          EXPECT_EQ(mine.front()[299], t);
          detail::pool_deallocate(block_kind::state, mine.front(), 300);
          mine.erase(mine.begin());
        }
      }
      for (auto* b : mine) detail::pool_deallocate(block_kind::state, b, 300);
    });
  for (auto& t : threads) t.join();
}

int live_frames() {
  int n = 0;
  detail::for_each_frame([](void*, void* count) { ++*static_cast<int*>(count); }, &n);
  return n;
}

// Not inlined: clang would elide the frame of a task that is never started.
[[gnu::noinline]] task<> plain() { co_return; }

[[gnu::noinline]] task<int> with_large_frame() {
  std::array<volatile char, 5000> local{};
  local[4999] = 1;
  co_await yield();
  co_return local[4999];
}

TEST(the_frame_walk, sees_frames_from_creation_to_destruction) {
  const int before = live_frames();
  {
    const task<> one = plain();
    const task<int> large = with_large_frame();
    EXPECT_EQ(live_frames(), before + 2);
  }
  EXPECT_EQ(live_frames(), before);
}

TEST(the_frame_walk, sees_no_frame_in_memory_that_the_pool_has_just_got) {
  constexpr std::size_t size = 1500;  // a size class with no other user here
  constexpr std::size_t slab_bytes = 64 * 1024;
  const int before = live_frames();
  std::atomic<bool> has_looked{false}, over{false};
  int most = before;
  std::thread walker([&] {
    while (!over) {
      most = std::max(most, live_frames());
      has_looked = true;
    }
  });
  while (!has_looked) std::this_thread::yield();
  std::vector<void*> blocks;
  for (int slab = 0; slab < 100; ++slab) {
    // The pool's next slab is memory that has been used before.
    void* used = std::aligned_alloc(detail::pool_granule, slab_bytes);
    std::memset(used, 0xff, slab_bytes);
    std::free(used);
    for (std::size_t i = 0; i < slab_bytes / 1536; ++i)
      blocks.push_back(detail::pool_allocate(block_kind::frame, size));
  }
  over = true;
  walker.join();
  EXPECT_EQ(most, before);
  for (void* block : blocks) detail::pool_deallocate(block_kind::frame, block, size);
}

TEST(the_frame_walk, does_not_see_promises) {
  const int before = live_frames();
  promise<int> p;
  const auto f = p.get_future();
  EXPECT_EQ(live_frames(), before);
}

TEST(a_large_frame, behaves_like_a_small_one) {
  runtime rt(options_with(2));
  EXPECT_EQ(rt.sync_wait(with_large_frame()), 1);
  std::vector<future<int>> all;
  for (int i = 0; i < 100; ++i) all.push_back(rt.spawn(with_large_frame()));
  EXPECT_EQ(rt.sync_wait(when_all(std::move(all))), std::vector<int>(100, 1));
}

TEST(frames, are_all_returned) {
  const int before = live_frames();
  {
    runtime rt(options_with(4));
    auto tree = [](auto& self, int depth) -> task<int> {
      if (depth == 0) co_return 1;
      auto a = spawn(self(self, depth - 1));
      co_return co_await self(self, depth - 1) + co_await a;
    };
    EXPECT_EQ(rt.sync_wait(tree(tree, 12)), 4096);
  }
  EXPECT_EQ(live_frames(), before);
}

}  // namespace
