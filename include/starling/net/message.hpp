// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace starling {

namespace detail {

/// Is told when a message that has come from another rank is destroyed: only then may that rank
/// send more. Any thread.
class message_keeper {
 public:
  virtual void destroyed(int from, std::size_t bytes) noexcept = 0;

 protected:
  ~message_keeper() = default;
};

/// A message's memory: this, then its bytes.
struct alignas(16) message_block {
  static constexpr std::size_t room_bytes = 48;

  message_block* next = nullptr;     // in lists of transports
  message_keeper* keeper = nullptr;  // of one that has come
  std::size_t size = 0;
  int from = 0;
  std::uint32_t number = 0;
  alignas(8) std::byte room[room_bytes];  // a transport's, for what goes before the bytes

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  /// @throws std::bad_alloc
  [[nodiscard]] static message_block* make(std::size_t size);
  static void destroy(message_block* b) noexcept;
  /// For whoever sent it, it is destroyed.
  void leave_keeper() noexcept {
    if (keeper != nullptr) std::exchange(keeper, nullptr)->destroyed(from, size);
  }
  /// The same where several threads may. Relaxed: one of them gets it, and no memory goes with it.
  void leave_keeper_once() noexcept {
    message_keeper* const left =
        std::atomic_ref<message_keeper*>(keeper).exchange(nullptr, std::memory_order_relaxed);
    if (left != nullptr) left->destroyed(from, size);
  }
};

}  // namespace detail

/// Bytes that one rank sends another, and their owner. Movable. One that has come from another rank
/// counts against what that rank may send until it is destroyed; it must not outlive its transport.
class message {
 public:
  message() noexcept = default;
  /// Bytes that are not initialised, 16-byte aligned. @throws std::bad_alloc
  explicit message(std::size_t size) : m_block(detail::message_block::make(size)) {}

  [[nodiscard]] std::size_t size() const noexcept { return m_block ? m_block->size : 0; }
  [[nodiscard]] std::byte* data() noexcept { return m_block ? m_block->bytes() : nullptr; }
  [[nodiscard]] const std::byte* data() const noexcept {
    return m_block ? m_block->bytes() : nullptr;
  }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data(), size()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size()}; }

  /// It counts no longer against what its sender may send. Any thread that may read it.
  void leave_window() const noexcept {
    if (m_block != nullptr) m_block->leave_keeper_once();
  }

  /// For transports: takes over what `release` returned.
  [[nodiscard]] static message adopt(detail::message_block* block) noexcept {
    message m;
    m.m_block.reset(block);
    return m;
  }
  [[nodiscard]] detail::message_block* release() noexcept {
    if (m_block != nullptr) m_block->leave_keeper();
    return m_block.release();
  }

 private:
  struct destroyer {
    void operator()(detail::message_block* b) const noexcept { detail::message_block::destroy(b); }
  };
  std::unique_ptr<detail::message_block, destroyer> m_block;
};

}  // namespace starling
