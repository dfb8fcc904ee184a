// SPDX-License-Identifier: Apache-2.0
#include <starling/net/message.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/huge_pages.hpp>
#include <starling/core/detail/spin_lock.hpp>

namespace starling {
namespace detail {
namespace {

/// Cache of memory blocks of large messages, reused for messages of the same rounded size: fresh
/// pages cost more than the copy into them. Small messages use the frame pool.
class block_cache {
 public:
  static constexpr std::size_t smallest = std::size_t{4} << 10;
  static constexpr std::size_t largest = std::size_t{16} << 20;
  static constexpr std::size_t most_kept = std::size_t{64} << 20;

  /// Returns the size to allocate for `bytes` bytes.
  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    return bytes < smallest || bytes > largest ? bytes : std::bit_ceil(bytes);
  }
  /// Returns a block of this rounded size, or null if none is cached.
  [[nodiscard]] void* take(std::size_t bytes) noexcept {
    if (bytes < smallest || bytes > largest) return nullptr;
    const std::lock_guard guard(m_lock);
    spare*& first = of(bytes);
    if (first == nullptr) return nullptr;
    m_kept -= bytes;
    return std::exchange(first, first->next);
  }
  /// Returns false if the cache does not take the block; the caller frees it.
  [[nodiscard]] bool keep(void* memory, std::size_t bytes) noexcept {
    if (bytes < smallest || bytes > largest) return false;
    const std::lock_guard guard(m_lock);
    if (m_kept + bytes > most_kept) return false;
    spare*& first = of(bytes);
    first = new (memory) spare{first};
    m_kept += bytes;
    return true;
  }

 private:
  struct spare {
    spare* next;
  };
  static constexpr std::size_t classes = std::bit_width(largest / smallest);
  [[nodiscard]] spare*& of(std::size_t bytes) noexcept {
    return m_first[std::size_t(std::bit_width(bytes / smallest)) - 1];
  }

  spin_lock m_lock;  // guards the members below
  std::array<spare*, classes> m_first{};
  std::size_t m_kept = 0;  // bytes
};

/// Returns whether a block comes from the frame pool. Larger blocks do not: the pool never returns
/// memory to the system, so a burst of them would stay allocated.
[[nodiscard]] constexpr bool is_pooled(std::size_t bytes) noexcept { return bytes <= 512; }
static_assert(pool_granule * pool_classes >= 512);

/// Returns the cache of the process. Never destroyed: static objects may destroy messages later.
block_cache& cache() noexcept {
  static block_cache* const c = new block_cache;
  return *c;
}

}  // namespace

message_block* message_block::make(std::size_t size) {
  const std::size_t bytes = block_cache::rounded(sizeof(message_block) + size);
  void* memory = is_pooled(bytes) ? pool_allocate(block_kind::state, bytes) : cache().take(bytes);
  if (memory == nullptr) {
    memory = ::operator new(bytes);
    prefer_huge_pages(memory, bytes);
  }
  auto* b = new (memory) message_block;
  b->size = size;
  return b;
}

void message_block::destroy(message_block* b) noexcept {
  b->leave_keeper();
  const std::size_t bytes = block_cache::rounded(sizeof(message_block) + b->size_here());
  delete b->tail;
  b->~message_block();
  if (is_pooled(bytes)) return pool_deallocate(block_kind::state, b, bytes);
  if (!cache().keep(b, bytes)) ::operator delete(b);
}

}  // namespace detail

message::message(std::size_t size, std::span<const std::byte> more,
                 std::shared_ptr<const void> owner)
    : message(size) {
  if (more.empty()) return;
  m_block->tail = new detail::attached_memory{more, std::move(owner)};
  m_block->size += more.size();
}

void message::join() {
  if (m_block == nullptr || m_block->tail == nullptr) return;
  message whole(size());
  std::ranges::copy(bytes(), whole.data());
  std::ranges::copy(m_block->tail->bytes, whole.data() + bytes().size());
  *this = std::move(whole);
}

message message::behind(std::size_t room) const {
  const std::span<const std::byte> own = bytes();
  const detail::attached_memory* tail = m_block ? m_block->tail : nullptr;
  message m = tail == nullptr ? message(room + own.size())
                              : message(room + own.size(), tail->bytes, tail->owner);
  std::ranges::copy(own, m.data() + room);
  return m;
}

std::shared_ptr<const void> message::share(message& m) {
  auto kept = std::make_shared<message>();
  m.leave_window();
  *kept = std::move(m);
  return kept;
}

}  // namespace starling
