// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/frame_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace starling::detail {

constinit thread_local thread_caches t_caches{};

thread_caches& current_caches() noexcept { return t_caches; }

namespace {

constexpr std::size_t slab_bytes = 64 * 1024;

struct slab {
  std::byte* memory;
  std::size_t block_bytes;
  block_kind kind;
};

struct large_header {
  large_header* previous;
  large_header* next;
  block_kind kind;
  std::byte padding[64 - 2 * sizeof(void*) - sizeof(block_kind)];
};
static_assert(sizeof(large_header) == 64);

/// What all threads share: batches of free blocks, every slab, every large block. Never destroyed,
/// because threads may return frames after static destruction has begun.
struct depot {
  std::mutex mutex;
  std::vector<pool_cache> batches[2][pool_classes];
  std::vector<slab> slabs;
  large_header large{&large, &large, block_kind::state, {}};
};

depot& shared() {
  static depot* const instance = new depot;
  return *instance;
}

/// Hands a thread's caches back when it ends. Touched only on slow paths.
struct cache_return {
  cache_return() = default;
  cache_return(const cache_return&) = delete;
  cache_return& operator=(const cache_return&) = delete;
  ~cache_return() {
    std::lock_guard lock(shared().mutex);
    for (int kind = 0; kind < 2; ++kind)
      for (std::size_t size_class = 0; size_class < pool_classes; ++size_class) {
        pool_cache& cache = t_caches.classes[kind][size_class];
        if (cache.head != nullptr) shared().batches[kind][size_class].push_back(cache);
        cache = {};
      }
  }
  /// Makes sure that this object exists, and lets `cache` keep blocks.
  void cover(pool_cache& cache) const noexcept { cache.limit = pool_cache_limit; }
};

thread_local cache_return t_return;

pool_cache carve_slab(block_kind kind, std::size_t size_class) {
  const std::size_t block_bytes = (size_class + 1) * pool_granule;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(pool_granule, slab_bytes));
  if (memory == nullptr) throw std::bad_alloc();
  {
    std::lock_guard lock(shared().mutex);
    shared().slabs.push_back({memory, block_bytes, kind});
  }
  std::memset(memory, 0, slab_bytes);  // no await_kind but not_started, no live mark
  pool_cache fresh{};
  for (std::size_t offset = 0; offset + block_bytes <= slab_bytes; offset += block_bytes) {
    auto* block = reinterpret_cast<free_block*>(memory + offset);
    *block = {fresh.head, nullptr};
    fresh.head = block;
    ++fresh.count;
    ASAN_POISON_MEMORY_REGION(block + 1, block_bytes - sizeof(free_block));
  }
  return fresh;
}

/// The second word of a frame is its destroy pointer, set for as long as the frame lives. Another
/// thread may be writing it while the walk reads: only null or not null matters, so the race is
/// meant and ThreadSanitizer is told.
__attribute__((noinline, no_sanitize("thread"))) bool is_live(const std::byte* block) {
  return *reinterpret_cast<void* const volatile*>(
             &reinterpret_cast<const free_block*>(block)->live_mark) != nullptr;
}

}  // namespace

void* pool_refill(block_kind kind, std::size_t size_class) {
  pool_cache& cache = t_caches.classes[static_cast<int>(kind)][size_class];
  pool_cache batch{};
  {
    std::lock_guard lock(shared().mutex);
    auto& batches = shared().batches[static_cast<int>(kind)][size_class];
    if (!batches.empty()) {
      batch = batches.back();
      batches.pop_back();
    }
  }
  if (batch.head == nullptr) batch = carve_slab(kind, size_class);
  cache = batch;
  t_return.cover(cache);
  return pool_allocate(kind, (size_class + 1) * pool_granule);
}

void pool_spill(block_kind kind, std::size_t size_class) noexcept {
  pool_cache& cache = t_caches.classes[static_cast<int>(kind)][size_class];
  t_return.cover(cache);
  if (cache.count <= cache.limit) return;
  pool_cache batch{cache.head, pool_batch, 0};
  free_block* last = cache.head;
  for (std::uint32_t i = 1; i < pool_batch; ++i) last = last->next;
  cache.head = last->next;
  cache.count -= pool_batch;
  last->next = nullptr;
  std::lock_guard lock(shared().mutex);
  try {
    shared().batches[static_cast<int>(kind)][size_class].push_back(batch);
  } catch (const std::bad_alloc&) {  // keep the blocks: a longer cache is better than a lost one
    last->next = cache.head;
    cache.head = batch.head;
    cache.count += pool_batch;
  }
}

void* large_allocate(block_kind kind, std::size_t size) {
  const std::size_t bytes = (sizeof(large_header) + size + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* header = new (memory) large_header{nullptr, nullptr, kind, {}};
  auto* block = reinterpret_cast<free_block*>(header + 1);
  std::memset(static_cast<void*>(block), 0, std::min(size, std::size_t(256)));  // as a slab
  std::lock_guard lock(shared().mutex);
  header->previous = &shared().large;
  header->next = shared().large.next;
  header->next->previous = header;
  shared().large.next = header;
  return block;
}

void large_deallocate(void* block, std::size_t) noexcept {
  auto* header = static_cast<large_header*>(block) - 1;
  {
    std::lock_guard lock(shared().mutex);
    header->previous->next = header->next;
    header->next->previous = header->previous;
  }
  std::free(header);
}

void for_each_frame(void (*visit)(void* frame, void* context), void* context) {
  std::lock_guard lock(shared().mutex);
  for (const slab& s : shared().slabs) {
    if (s.kind != block_kind::frame) continue;
    for (std::size_t offset = 0; offset + s.block_bytes <= slab_bytes; offset += s.block_bytes)
      if (is_live(s.memory + offset)) visit(s.memory + offset, context);
  }
  for (large_header* h = shared().large.next; h != &shared().large; h = h->next) {
    auto* block = reinterpret_cast<std::byte*>(h + 1);
    if (h->kind == block_kind::frame && is_live(block)) visit(block, context);
  }
}

}  // namespace starling::detail
