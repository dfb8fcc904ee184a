// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/frame_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <starling/core/detail/promise_base.hpp>

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

/// The first block of a list of free blocks in the depot, with the list's data. The data end before
/// the place of `promise_base::pinned`, so that they do not overwrite `promise_base::kind`, which
/// the frame walk reads.
struct batch_head : free_block {
  batch_head* next_batch;
  std::uint32_t count;
};
static_assert(sizeof(batch_head) <= 2 * sizeof(void*) + offsetof(promise_base, pinned));

/// Data that all threads share: batches of free blocks, all slabs, all large blocks. Never
/// destroyed, because threads may return frames after static destruction has begun.
struct depot {
  std::mutex mutex;  // guards all fields
  batch_head* batches[2][pool_classes] = {};
  std::vector<slab> slabs;
  large_header large{&large, &large, block_kind::state, {}};
};

depot& shared() {
  static depot* const instance = new depot;
  return *instance;
}

/// Adds a batch to the depot; allocates no memory. Requires the depot's lock.
void give_batch(block_kind kind, std::size_t size_class, free_block* first, std::uint32_t count) {
  ASAN_UNPOISON_MEMORY_REGION(first, sizeof(batch_head));
  batch_head*& newest = shared().batches[static_cast<int>(kind)][size_class];
  newest = new (first) batch_head{{first->next, nullptr}, newest, count};
}

/// Takes a batch from the depot; an empty batch if there is none.
pool_cache take_batch(block_kind kind, std::size_t size_class) {
  std::lock_guard lock(shared().mutex);
  batch_head*& newest = shared().batches[static_cast<int>(kind)][size_class];
  batch_head* taken = newest;
  if (taken == nullptr) return {};
  newest = taken->next_batch;
  const pool_cache batch{taken, taken->count, 0};
  ASAN_POISON_MEMORY_REGION(static_cast<free_block*>(taken) + 1,
                            sizeof(batch_head) - sizeof(free_block));
  return batch;
}

/// Returns a thread's caches to the depot when the thread ends. Accessed on slow paths only.
struct cache_return {
  cache_return() = default;
  cache_return(const cache_return&) = delete;
  cache_return& operator=(const cache_return&) = delete;
  ~cache_return() {
    std::lock_guard lock(shared().mutex);
    for (const block_kind kind : {block_kind::frame, block_kind::state})
      for (std::size_t size_class = 0; size_class < pool_classes; ++size_class) {
        pool_cache& cache = t_caches.classes[static_cast<int>(kind)][size_class];
        if (cache.head != nullptr) give_batch(kind, size_class, cache.head, cache.count);
        cache = {};
      }
  }
  /// Sets the limit of `cache`, so that it keeps blocks. The call constructs this thread-local
  /// object, whose destructor returns them.
  void cover(pool_cache& cache) const noexcept { cache.limit = pool_cache_limit; }
};

thread_local cache_return t_return;

pool_cache carve_slab(block_kind kind, std::size_t size_class) {
  const std::size_t block_bytes = (size_class + 1) * pool_granule;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(pool_granule, slab_bytes));
  if (memory == nullptr) throw std::bad_alloc();
  // Zeroed before the walk can read the slab: each await_kind is not_started, and no block has a
  // live mark.
  std::memset(memory, 0, slab_bytes);
  try {
    std::lock_guard lock(shared().mutex);
    shared().slabs.push_back({memory, block_bytes, kind});
  } catch (const std::bad_alloc&) {
    std::free(memory);
    throw;
  }
  pool_cache fresh{};
  for (std::size_t offset = 0; offset + block_bytes <= slab_bytes; offset += block_bytes) {
    auto* block = reinterpret_cast<free_block*>(memory + offset);
    *block = {fresh.head, nullptr};
    fresh.head = block;
    ++fresh.count;
    poison(block + 1, block_bytes - sizeof(free_block));
  }
  return fresh;
}

/// Returns whether a block has a live frame: the second word of a frame is its destroy pointer,
/// which is not null. Another thread may write the word at the same time; only null or not null
/// matters, so the race is intended and excluded from ThreadSanitizer.
__attribute__((noinline, no_sanitize("thread"))) bool is_live(const std::byte* block) {
  return *reinterpret_cast<void* const volatile*>(
             &reinterpret_cast<const free_block*>(block)->live_mark) != nullptr;
}

}  // namespace

void* pool_refill(block_kind kind, std::size_t size_class) {
  pool_cache& cache = t_caches.classes[static_cast<int>(kind)][size_class];
  pool_cache batch = take_batch(kind, size_class);
  if (batch.head == nullptr) batch = carve_slab(kind, size_class);
  cache = batch;
  t_return.cover(cache);
  return pool_allocate(kind, (size_class + 1) * pool_granule);
}

void pool_spill(block_kind kind, std::size_t size_class) noexcept {
  pool_cache& cache = t_caches.classes[static_cast<int>(kind)][size_class];
  t_return.cover(cache);
  if (cache.count <= cache.limit) return;
  free_block* const first = cache.head;
  free_block* last = first;
  for (std::uint32_t i = 1; i < pool_batch; ++i) last = last->next;
  cache.head = last->next;
  cache.count -= pool_batch;
  last->next = nullptr;
  std::lock_guard lock(shared().mutex);
  give_batch(kind, size_class, first, pool_batch);
}

void* large_allocate(block_kind kind, std::size_t size) {
  const std::size_t bytes = (sizeof(large_header) + size + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* header = new (memory) large_header{nullptr, nullptr, kind, {}};
  auto* block = reinterpret_cast<free_block*>(header + 1);
  std::memset(static_cast<void*>(block), 0, std::min(size, std::size_t(256)));  // as in carve_slab
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

void lock_pools() noexcept { shared().mutex.lock(); }
void unlock_pools() noexcept { shared().mutex.unlock(); }

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
