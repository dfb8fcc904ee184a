// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/core/detail/compiler.hpp>
#include <starling/core/detail/poison.hpp>

namespace starling::detail {

/// The content of a pooled block. Frames are walked by the hang diagnosis, states are not.
enum class block_kind : std::uint8_t { frame, state };

inline constexpr std::size_t pool_granule = 64;
inline constexpr std::size_t pool_classes = 32;  // blocks of 64, 128 … 2048 bytes

/// A block in a free list. The second word is where a coroutine frame has its destroy pointer: by
/// null the frame walk recognises a block without a live frame.
struct free_block {
  free_block* next;
  void* live_mark;
};

struct pool_cache {
  free_block* head;
  std::uint32_t count;
  std::uint32_t limit;  // 0 until the thread is registered to return its blocks when it ends
};

inline constexpr std::uint32_t pool_cache_limit = 512;  // blocks per class kept by one thread
inline constexpr std::uint32_t pool_batch = 256;        // blocks moved between threads at once

struct thread_caches {
  pool_cache classes[2][pool_classes];
};

extern constinit thread_local thread_caches t_caches [[gnu::tls_model("initial-exec")]];

/// Returns `t_caches`. Not inlined: some compilers keep the address of a thread-local variable
/// across a suspension, after which the coroutine may run on another thread (compiler.hpp).
[[nodiscard]] thread_caches& current_caches() noexcept;

[[nodiscard]] inline pool_cache& cache_of(block_kind kind, std::size_t size_class) noexcept {
  thread_caches& caches = keeps_thread_local_addresses ? current_caches() : t_caches;
  return caches.classes[static_cast<int>(kind)][size_class];
}

/// Slow paths. `pool_refill` takes a batch from the shared depot or carves a slab, `pool_spill`
/// returns a batch to the depot; both register the thread to return its blocks when it ends.
[[nodiscard]] void* pool_refill(block_kind kind, std::size_t size_class);
void pool_spill(block_kind kind, std::size_t size_class) noexcept;
[[nodiscard]] void* large_allocate(block_kind kind, std::size_t size);
void large_deallocate(void* block, std::size_t size) noexcept;

/// Calls `visit(frame address, context)` for every live coroutine frame of the process. A frame
/// that is created or destroyed during the call may be missed. The addresses remain readable during
/// the visit: slabs are never unmapped, and a large block is unlinked under the lock that the visit
/// holds. Between a frame's allocation and the construction of its promise, the promise's bytes are
/// zero or as `promise_base::operator delete` left them.
void for_each_frame(void (*visit)(void* frame, void* context), void* context);

/// Locks the shared depot during a fork, so that the child finds it unlocked and consistent.
void lock_pools() noexcept;
void unlock_pools() noexcept;

/// Returns a block; about two loads and a store if the thread's cache has a block.
/// @throws std::bad_alloc
[[nodiscard, gnu::always_inline]] inline void* pool_allocate(block_kind kind, std::size_t size) {
  const std::size_t size_class = (size - 1) / pool_granule;
  if (size_class >= pool_classes) [[unlikely]]
    return large_allocate(kind, size);
  pool_cache& cache = cache_of(kind, size_class);
  free_block* block = cache.head;
  if (block == nullptr) [[unlikely]]
    return pool_refill(kind, size_class);
  unpoison(block, (size_class + 1) * pool_granule);
  cache.head = block->next;
  --cache.count;
  return block;
}

/// Returns a block to the calling thread's cache; `size` as given to `pool_allocate`.
inline void pool_deallocate(block_kind kind, void* memory, std::size_t size) noexcept {
  const std::size_t size_class = (size - 1) / pool_granule;
  if (size_class >= pool_classes) [[unlikely]]
    return large_deallocate(memory, size);
  pool_cache& cache = cache_of(kind, size_class);
  auto* block = static_cast<free_block*>(memory);
  block->next = cache.head;
  block->live_mark = nullptr;
  cache.head = block;
  poison(block + 1, (size_class + 1) * pool_granule - sizeof(free_block));
  if (++cache.count > cache.limit) [[unlikely]]
    pool_spill(kind, size_class);
}

/// Base that gives a class pooled `new` and `delete`.
template <block_kind Kind>
struct pooled {
  [[gnu::always_inline]] static void* operator new(std::size_t size) {
    return pool_allocate(Kind, size);
  }
  static void operator delete(void* memory, std::size_t size) noexcept {
    pool_deallocate(Kind, memory, size);
  }
};

}  // namespace starling::detail
